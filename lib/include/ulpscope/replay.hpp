#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  bool requires_grad = false;
  bool has_rows = false;  ///< dimension 0 is the batch: see ReplayConditions::first_rows
  Dtype dtype = Dtype::undefined;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< elements, into `bytes`; 0 if expanded
  std::vector<std::byte> bytes;       ///< packed; none: the op does not read them
  /// Strides that the tensor had in the program, for TensorLayout::recorded; empty: `strides`.
  std::vector<std::int64_t> memory_strides;
  std::uint8_t alignment = 0;  ///< the data pointer modulo 64, for TensorLayout::recorded
  std::int16_t gpu = kOnCpu;   ///< that it was on, for ReplayConditions::on_gpu

  static constexpr std::int16_t kOnCpu = -1;
};

enum class Precision : std::uint8_t {
  recorded,  ///< in the dtypes that were recorded
  float64,   ///< floating-point and complex tensors in double precision
};

/// How inputs lie in memory.
enum class TensorLayout : std::uint8_t {
  packed,         ///< without gaps, in the order of their bytes, aligned
  recorded,       ///< with the strides and the alignment that they had in the program
  contiguous,     ///< row-major
  channels_last,  ///< those of 4 and 5 dimensions; others are as recorded
};

/// The state of LibTorch in which an op is called. What is not given is LibTorch's default.
struct ReplayConditions {
  int threads = 0;  ///< of one op; 0: as many as LibTorch takes on its own
  bool deterministic = false;
  bool deterministic_warns = false;  ///< ops that have no deterministic kernel run all the same
  bool fill_uninitialized = true;    ///< counts in deterministic mode only
  bool mkldnn = true;
  bool mkldnn_deterministic = false;
  /// Of float32 in oneDNN's convolutions, products and recurrent layers: none, ieee, tf32 or bf16.
  std::array<std::string, 3> mkldnn_precision = {"none", "none", "none"};
  bool sdp_flash = true;
  bool sdp_math = true;
  bool sdp_mem_efficient = true;
  bool sdp_cudnn = true;
  std::string matmul_precision = "highest";
  /// Tensors are on the GPUs where they were; else everything is on the CPU. A GPU that this
  /// machine does not have is replaced by one that it has.
  bool on_gpu = false;
  bool cudnn = true;
  bool cudnn_benchmark = false;
  bool cudnn_deterministic = false;
  bool cudnn_tf32 = true;
  bool cublas_fp16_reduction = true;
  bool cublas_bf16_reduction = true;
  bool cublas_fp16_accumulation = false;
  bool grad_mode = false;
  bool inference_mode = false;
  bool autocast = false;
  bool autocast_other = false;  ///< as event_flag::autocast_other; else to the default dtype
  bool flush_denormal = false;
  TensorLayout layout = TensorLayout::packed;
  /// Bytes from a multiple of 64 to where each input begins, in place of its own; with
  /// TensorLayout::recorded.
  std::optional<std::uint8_t> alignment;
  std::int64_t first_rows = 0;  ///< of tensors that have rows; 0: all

  friend bool operator==(const ReplayConditions&, const ReplayConditions&) = default;
};

struct ReplayRequest {
  std::string op;  ///< "aten::addmm"
  std::string overload;
  Precision precision = Precision::recorded;
  ReplayConditions conditions;
  std::vector<ReplayTensor> inputs;
  std::vector<std::byte> arguments;  ///< Event::argument_bytes
  std::vector<std::byte> generator;  ///< state that it draws from, as recorded; none: draws nothing
  std::vector<ReplayTensor> wanted;  ///< which results; role, index and element count
};

struct ReplayAnswer {
  std::vector<ReplayTensor> results;  ///< as ReplayRequest::wanted, row-major
  std::string failure;                ///< why it was not replayed; then there are no results
  std::string torch_version;          ///< of the LibTorch that replays: "2.11.0"
  std::string cpu_capability;         ///< of its kernels: "AVX2"
};

/// Replays ops.
class Replayer {
 public:
  Replayer() = default;
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;
  virtual ~Replayer() = default;

  /// Never throws because of an op; if the replaying process ends, this op has failed.
  [[nodiscard]] virtual ReplayAnswer replay(const ReplayRequest& request) = 0;
};

/// What a replaying process is started with, since LibTorch and oneDNN read it only then.
struct ReplayStart {
  struct Variable {
    std::string name;
    std::optional<std::string> value;  ///< empty: not set
    friend bool operator==(const Variable&, const Variable&) = default;
  };
  std::vector<Variable> environment;   ///< in place of the caller's; the last of a name counts
  std::vector<std::string> libraries;  ///< with ops that are not LibTorch's; opened in order
  std::chrono::seconds patience{300};  ///< how long one op may take

  friend bool operator==(const ReplayStart&, const ReplayStart&) = default;
};

/// Makes a replayer of its own process. Null if none is installed.
using ReplayerFactory = std::function<std::unique_ptr<Replayer>(const ReplayStart&)>;

}  // namespace ulpscope
