#pragma once

#include <unistd.h>

#include <utility>

namespace ulpscope::ring {

/// Sole owner of one file descriptor.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Moves a descriptor above standard input, output and error, for a program that has
/// closed one of them. Empty when that fails.
[[nodiscard]] Descriptor above_stdio(Descriptor descriptor) noexcept;

}  // namespace ulpscope::ring
