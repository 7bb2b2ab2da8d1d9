#include "device/cudnn/engines.hpp"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <array>
#include <new>

namespace ulpscope::device {
namespace {

/// Sole owner of one of cuDNN's descriptors. The first thing that fails is its status; what follows
/// it does nothing.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) noexcept
      : status_(cudnnBackendCreateDescriptor(type, &descriptor_)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
  }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values) noexcept {
    if (status_ == CUDNN_STATUS_SUCCESS)
      status_ = cudnnBackendSetAttribute(descriptor_, name, type, count, values);
  }
  void set(cudnnBackendAttributeName_t name, std::int64_t number) noexcept {
    set(name, CUDNN_TYPE_INT64, 1, &number);
  }
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> numbers) noexcept {
    set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(numbers.size()), numbers.data());
  }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t type) noexcept {
    set(name, CUDNN_TYPE_DATA_TYPE, 1, &type);
  }
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t handle) noexcept {
    set(name, CUDNN_TYPE_HANDLE, 1, &handle);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other) noexcept {
    if (status_ == CUDNN_STATUS_SUCCESS) status_ = other.status_;
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.descriptor_);
  }
  void finalize() noexcept {
    if (status_ == CUDNN_STATUS_SUCCESS) status_ = cudnnBackendFinalize(descriptor_);
  }
  [[nodiscard]] std::int64_t number(cudnnBackendAttributeName_t name) noexcept {
    std::int64_t number = 0;
    std::int64_t count = 0;
    if (status_ == CUDNN_STATUS_SUCCESS)
      status_ = cudnnBackendGetAttribute(descriptor_, name, CUDNN_TYPE_INT64, 1, &count, &number);
    return number;
  }

  [[nodiscard]] cudnnBackendDescriptor_t get() const noexcept { return descriptor_; }
  [[nodiscard]] cudnnStatus_t status() const noexcept { return status_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  cudnnStatus_t status_;
};

struct Types {
  cudnnDataType_t data;
  cudnnDataType_t compute;
};

[[nodiscard]] Types types_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float16:
      return {CUDNN_DATA_HALF, CUDNN_DATA_FLOAT};
    case Dtype::bfloat16:
      return {CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT};
    case Dtype::float64:
      return {CUDNN_DATA_DOUBLE, CUDNN_DATA_DOUBLE};
    default:
      return {CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT};
  }
}

/// What a kind of convolution is called.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution;
  cudnnBackendAttributeName_t image;
  cudnnBackendAttributeName_t filter;
  cudnnBackendAttributeName_t response;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
};

[[nodiscard]] Names names_of(ConvolutionKind kind) noexcept {
  switch (kind) {
    case ConvolutionKind::image_gradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionKind::filter_gradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

/// The largest power of two up to 16 that divides an address.
[[nodiscard]] std::int64_t alignment_of(const void* data) noexcept {
  const std::uintptr_t bits = 16 | reinterpret_cast<std::uintptr_t>(data);
  return static_cast<std::int64_t>(bits & (0 - bits));
}

[[nodiscard]] std::uint32_t notes_of(const Descriptor& engine) noexcept {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> found{};
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                               CUDNN_TYPE_NUMERICAL_NOTE, found.size(), &count,
                               found.data()) != CUDNN_STATUS_SUCCESS)
    return 0;
  std::uint32_t notes = 0;
  for (std::size_t i = 0; i < found.size() && static_cast<std::int64_t>(i) < count; ++i) {
    switch (found[i]) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        notes |= kNondeterministic;
        break;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        notes |= kTensorCores;
        break;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        notes |= kConvertsInputsDown;
        break;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        notes |= kReducedPrecisionSums;
        break;
      case CUDNN_NUMERICAL_NOTE_FFT:
        notes |= kFourier;
        break;
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        notes |= kWinograd;
        break;
      default:
        break;
    }
  }
  return notes;
}

}  // namespace

class EngineSet {
 public:
  explicit EngineSet(const Convolution& convolution) noexcept
      : image_(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
        filter_(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
        response_(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
        convolution_(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR),
        operation_(names_of(convolution.kind).operation),
        graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
        data_{convolution.image.data, convolution.filter.data, convolution.response.data},
        status_(cudnnCreate(&handle_)) {
    if (status_ != CUDNN_STATUS_SUCCESS) return;
    const Types types = types_of(convolution.dtype);
    describe(image_, kImage, convolution.image, types);
    describe(filter_, kFilter, convolution.filter, types);
    describe(response_, kResponse, convolution.response, types);
    describe(convolution, types);

    const Names names = names_of(convolution.kind);
    operation_.set(names.convolution, convolution_);
    operation_.set(names.image, image_);
    operation_.set(names.filter, filter_);
    operation_.set(names.response, response_);
    scale(names.alpha, 1, types);
    scale(names.beta, 0, types);
    operation_.finalize();

    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle_);
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_);
    graph_.finalize();
    count_ = graph_.number(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
    status_ = graph_.status();
  }
  EngineSet(const EngineSet&) = delete;
  EngineSet& operator=(const EngineSet&) = delete;
  ~EngineSet() {
    if (handle_ != nullptr) cudnnDestroy(handle_);
  }

  [[nodiscard]] cudnnStatus_t status() const noexcept { return status_; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }

  [[nodiscard]] EngineRun run(std::int64_t index, std::span<std::byte> workspace,
                              cudaStream_t stream) noexcept {
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_);
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
    engine.finalize();
    Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    configuration.finalize();
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    plan.finalize();
    EngineRun run;
    run.workspace =
        static_cast<std::uint64_t>(plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
    run.status = plan.status();
    if (run.status != CUDNN_STATUS_SUCCESS) return run;
    run.notes = notes_of(engine);
    if (workspace.size() < run.workspace) return run;

    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    void* const room = workspace.data();
    constexpr std::array<std::int64_t, 3> kIds{kImage, kFilter, kResponse};
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kIds);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             static_cast<std::int64_t>(data_.size()), data_.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &room);
    pack.finalize();
    cudnnStatus_t status = pack.status();
    if (status == CUDNN_STATUS_SUCCESS) status = cudnnSetStream(handle_, stream);
    if (status == CUDNN_STATUS_SUCCESS)
      status = cudnnBackendExecute(handle_, plan.get(), pack.get());
    run.status = status;
    run.enqueued = status == CUDNN_STATUS_SUCCESS;
    return run;
  }

 private:
  static constexpr std::int64_t kImage = 1;
  static constexpr std::int64_t kFilter = 2;
  static constexpr std::int64_t kResponse = 3;

  static void describe(Descriptor& descriptor, std::int64_t id, const ConvolutionTensor& tensor,
                       const Types& types) noexcept {
    descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, types.data);
    descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment_of(tensor.data));
    descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.sizes);
    descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides);
    descriptor.finalize();
  }
  void describe(const Convolution& convolution, const Types& types) noexcept {
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    convolution_.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                     static_cast<std::int64_t>(convolution.padding.size()));
    convolution_.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, types.compute);
    convolution_.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    convolution_.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, convolution.padding);
    convolution_.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, convolution.padding);
    convolution_.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, convolution.dilation);
    convolution_.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, convolution.stride);
    convolution_.finalize();
  }
  void scale(cudnnBackendAttributeName_t name, double factor, const Types& types) noexcept {
    const auto single = static_cast<float>(factor);
    if (types.compute == CUDNN_DATA_DOUBLE)
      operation_.set(name, CUDNN_TYPE_DOUBLE, 1, &factor);
    else
      operation_.set(name, CUDNN_TYPE_FLOAT, 1, &single);
  }

  Descriptor image_;
  Descriptor filter_;
  Descriptor response_;
  Descriptor convolution_;
  Descriptor operation_;
  Descriptor graph_;
  std::array<void*, 3> data_;
  cudnnHandle_t handle_ = nullptr;
  cudnnStatus_t status_;
  std::int64_t count_ = 0;
};

namespace {

EngineSet* open(const Convolution& convolution, int& status) noexcept {
  auto* engines = new (std::nothrow) EngineSet(convolution);
  status = engines == nullptr ? CUDNN_STATUS_ALLOC_FAILED : engines->status();
  if (engines == nullptr || status == CUDNN_STATUS_SUCCESS) return engines;
  delete engines;
  return nullptr;
}

void close(EngineSet* engines) noexcept { delete engines; }

std::int64_t count(const EngineSet* engines) noexcept { return engines->count(); }

EngineRun run(EngineSet* engines, std::int64_t engine, std::span<std::byte> workspace,
              void* stream) noexcept {
  return engines->run(engine, workspace, static_cast<cudaStream_t>(stream));
}

const char* status_text(int status) noexcept {
  return cudnnGetErrorString(static_cast<cudnnStatus_t>(status));
}

const char* problem() noexcept {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return devices == 0 ? cudaGetErrorString(cudaErrorNoDevice) : nullptr;
}

void* allocate(std::size_t bytes) noexcept {
  void* memory = nullptr;
  return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : nullptr;
}

void release(void* memory) noexcept { cudaFree(memory); }

bool copy_in(void* to, std::span<const std::byte> from) noexcept {
  return cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice) == cudaSuccess;
}

bool copy_out(std::span<std::byte> to, const void* from) noexcept {
  return cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost) == cudaSuccess;
}

constexpr EngineFunctions kFunctions{.version = EngineFunctions::kVersion,
                                     .library = CUDNN_VERSION,
                                     .problem = &problem,
                                     .allocate = &allocate,
                                     .release = &release,
                                     .copy_in = &copy_in,
                                     .copy_out = &copy_out,
                                     .open = &open,
                                     .close = &close,
                                     .count = &count,
                                     .run = &run,
                                     .status_text = &status_text};

}  // namespace
}  // namespace ulpscope::device

const ulpscope::device::EngineFunctions* ulpscope_cudnn_functions(std::uint32_t version) {
  using ulpscope::device::EngineFunctions;
  return version == EngineFunctions::kVersion ? &ulpscope::device::kFunctions : nullptr;
}
