#pragma once

#include <memory>
#include <string>

/// What the hazards do between the dangerous things: LibTorch ops whose results are printed, so
/// that a recording that changed anything would show. No LibTorch type is named here.
namespace faults {

/// One `aten::digamma`, counted in progress().ops once it has returned. Returns its result's sum.
float marked_op(float value);

/// A small model that learns numbers which follow from the step.
class Training {
 public:
  Training();
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// One training step with one marked op in it. Prints "step K LOSS" at once, then counts it in
  /// progress().steps.
  void step();
  void steps(int count);

  /// The digest of all parameters.
  [[nodiscard]] std::string digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `count` marked ops in sequence, each on the result of the one before; returns the last result.
float chain(int count, float start = 1.5F);

/// Tiny ops outside of any training, marked ones not among them.
void tiny_ops(long count);

/// The program's own exceptions, which pass through a recording's hooks. Each prints
/// what was caught.
void throw_from_module();
void throw_from_custom_function();
void throw_from_callback();

}  // namespace faults
