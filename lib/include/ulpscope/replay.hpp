#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ulpscope/dtype.hpp"
#include "ulpscope/run.hpp"

/// Replaying a recorded op from its recorded inputs. The replayer needs LibTorch; its caller does
/// not.
namespace ulpscope {

/// An input of an op, or one of its results.
struct ReplayTensor {
  Role role = Role::input;
  std::uint16_t index = 0;    ///< argument index (input, mutated) or return index (output)
  std::uint16_t element = 0;  ///< index inside a tensor list, else 0
  bool defined = true;
  bool wrapped_number = false;  ///< a number that is passed as a 0-dim tensor
  Dtype dtype = Dtype::undefined;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< elements, into `bytes`; 0 if expanded
  std::vector<std::byte> bytes;       ///< packed; none: the op does not read them
};

enum class Precision : std::uint8_t {
  recorded,  ///< in the dtypes that were recorded
  float64,   ///< floating-point and complex tensors in double precision
};

struct ReplayRequest {
  std::string op;  ///< "aten::addmm"
  std::string overload;
  Precision precision = Precision::recorded;
  std::vector<ReplayTensor> inputs;
  std::vector<std::byte> arguments;  ///< Event::argument_bytes
  std::vector<ReplayTensor> wanted;  ///< which results; role, index and element count
};

struct ReplayAnswer {
  std::vector<ReplayTensor> results;  ///< as ReplayRequest::wanted, row-major
  std::string failure;                ///< why it was not replayed; then there are no results
};

/// Replays ops, on the CPU.
class Replayer {
 public:
  Replayer() = default;
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;
  virtual ~Replayer() = default;

  /// Never throws because of an op; if the replaying process ends, this op has failed.
  [[nodiscard]] virtual ReplayAnswer replay(const ReplayRequest& request) = 0;
};

}  // namespace ulpscope
