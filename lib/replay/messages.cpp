#include "replay/messages.hpp"

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <exception>
#include <sstream>

#include "ulpscope/error.hpp"

namespace ulpscope {
namespace {

using Writer = cereal::BinaryOutputArchive;
using Reader = cereal::BinaryInputArchive;

void put(Writer& archive, const std::vector<std::byte>& bytes) {
  archive(static_cast<std::uint64_t>(bytes.size()));
  archive(cereal::binary_data(bytes.data(), bytes.size()));
}

void put(Reader& archive, std::vector<std::byte>& bytes) {
  std::uint64_t size = 0;
  archive(size);
  if (size > replay::kLongestMessage) throw cereal::Exception("too long");
  bytes.resize(size);
  archive(cereal::binary_data(bytes.data(), bytes.size()));
}

}  // namespace

template <class Archive>
void save(Archive& archive, const ReplayTensor& tensor) {
  archive(tensor.role, tensor.index, tensor.element, tensor.defined, tensor.wrapped_number,
          tensor.requires_grad, tensor.has_rows, tensor.dtype, tensor.sizes, tensor.strides,
          tensor.memory_strides, tensor.alignment, tensor.gpu);
  put(archive, tensor.bytes);
}

template <class Archive>
void load(Archive& archive, ReplayTensor& tensor) {
  archive(tensor.role, tensor.index, tensor.element, tensor.defined, tensor.wrapped_number,
          tensor.requires_grad, tensor.has_rows, tensor.dtype, tensor.sizes, tensor.strides,
          tensor.memory_strides, tensor.alignment, tensor.gpu);
  put(archive, tensor.bytes);
}

template <class Archive>
void serialize(Archive& archive, ReplayConditions& conditions) {
  archive(conditions.threads, conditions.deterministic, conditions.deterministic_warns,
          conditions.fill_uninitialized, conditions.mkldnn, conditions.mkldnn_deterministic,
          conditions.mkldnn_precision, conditions.sdp_flash, conditions.sdp_math,
          conditions.sdp_mem_efficient, conditions.sdp_cudnn, conditions.matmul_precision,
          conditions.on_gpu, conditions.cudnn, conditions.cudnn_benchmark,
          conditions.cudnn_deterministic, conditions.cudnn_tf32, conditions.cublas_fp16_reduction,
          conditions.cublas_bf16_reduction, conditions.cublas_fp16_accumulation,
          conditions.grad_mode, conditions.inference_mode, conditions.autocast,
          conditions.autocast_other, conditions.flush_denormal, conditions.layout,
          conditions.alignment, conditions.first_rows);
}

template <class Archive>
void save(Archive& archive, const ReplayRequest& request) {
  archive(request.op, request.overload, request.precision, request.conditions, request.inputs,
          request.wanted);
  put(archive, request.arguments);
  put(archive, request.generator);
}

template <class Archive>
void load(Archive& archive, ReplayRequest& request) {
  archive(request.op, request.overload, request.precision, request.conditions, request.inputs,
          request.wanted);
  put(archive, request.arguments);
  put(archive, request.generator);
}

template <class Archive>
void serialize(Archive& archive, ReplayAnswer& answer) {
  archive(answer.results, answer.failure, answer.torch_version, answer.cpu_capability);
}

namespace replay {
namespace {

template <class Message>
std::string packed(const Message& message) {
  std::ostringstream out;
  Writer archive(out);
  archive(message);
  return std::move(out).str();
}

template <class Message>
Message unpacked(const std::string& bytes) {
  Message message;
  try {
    std::istringstream in(bytes);
    Reader archive(in);
    archive(message);
  } catch (const std::exception& error) {
    throw Error(ErrorCode::corrupt,
                std::string("What was said about an op cannot be read: ") + error.what());
  }
  return message;
}

}  // namespace

std::string pack(const ReplayRequest& request) { return packed(request); }
std::string pack(const ReplayAnswer& answer) { return packed(answer); }
ReplayRequest unpack_request(const std::string& bytes) { return unpacked<ReplayRequest>(bytes); }
ReplayAnswer unpack_answer(const std::string& bytes) { return unpacked<ReplayAnswer>(bytes); }

}  // namespace replay
}  // namespace ulpscope
