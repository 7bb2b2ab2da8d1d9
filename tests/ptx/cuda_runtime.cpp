/// What lib/device and device_check.cpp need of the CUDA runtime, for one device whose kernels are
/// executed by the machine beside this file, from the PTX that nvcc has put into the program.
/// Nothing that is enqueued runs before the host waits for its stream.
#include "tests/ptx/cuda_runtime.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

using Work = std::function<void()>;

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
struct CUstream_st {
  std::deque<Work> work;
  std::unique_ptr<CUgraph_st> captured;  // null: it is not
};
struct CUkern_st {
  const ulpscope::test::ptx::Kernel* kernel;
};

namespace {

using namespace ulpscope::test::ptx;

struct LaunchShape {
  dim3 blocks;
  dim3 threads;
  std::size_t shared;
  cudaStream_t stream;
};

struct Runtime {
  Machine machine{20};
  std::deque<Module> modules;
  std::map<const void*, CUkern_st> kernels;  // by the host function that represents it
  std::map<void*, std::unique_ptr<std::byte[]>> allocations;
  std::vector<CUstream_st*> streams;
  LaunchShape next_launch{};
  cudaError_t failure = cudaSuccess;
};

Runtime& runtime() {
  static Runtime the_runtime;
  return the_runtime;
}

cudaError_t run(CUstream_st& stream) {
  for (; !stream.work.empty() && runtime().failure == cudaSuccess; stream.work.pop_front()) {
    try {
      stream.work.front()();
    } catch (const Violation& violation) {
      std::fprintf(stderr, "kernel: %s\n", violation.what());
      runtime().failure = cudaErrorLaunchFailure;
    }
  }
  return runtime().failure;
}

cudaError_t enqueue(cudaStream_t stream, Work work) {
  if (stream == nullptr) return cudaErrorInvalidValue;  // nothing here uses it so
  if (stream->captured != nullptr)
    stream->captured->work.push_back(std::move(work));
  else
    stream->work.push_back(std::move(work));
  return cudaSuccess;
}

/// The PTX in nvcc's output for a file, with --no-compress.
std::string_view ptx_in(const void* wrapper) {
  struct Wrapper {
    std::uint32_t magic;
    std::uint32_t version;
    const char* binary;
  };
  struct Header {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t header_bytes;
    std::uint64_t bytes;
  };
  const char* const binary = static_cast<const Wrapper*>(wrapper)->binary;
  Header header;
  std::memcpy(&header, binary, sizeof header);
  const std::string_view all(binary, header.header_bytes + header.bytes);
  const auto begin = all.find(".version ");
  if (begin == std::string_view::npos) return {};
  return all.substr(begin, all.find('\0', begin) - begin);
}

/// Host and device are one memory, but what the device may reach of it is known.
void* allocate(std::size_t bytes, bool initialised) {
  constexpr std::size_t kAlignment = 256;
  auto memory = std::make_unique<std::byte[]>(bytes + kAlignment);
  void* begin = memory.get();
  std::size_t room = bytes + kAlignment;
  begin = std::align(kAlignment, bytes, begin, room);
  runtime().machine.memory().add(begin, bytes, initialised);
  runtime().allocations[begin] = std::move(memory);
  return begin;
}

void release(void* memory) {
  runtime().machine.memory().remove(memory);
  runtime().allocations.erase(memory);
}

void copy(void* to, const void* from, std::size_t bytes) {
  std::memmove(to, from, bytes);
  runtime().machine.memory().set_initialised(to, bytes);
}

void fill(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  runtime().machine.memory().set_initialised(memory, bytes);
}

}  // namespace

namespace ulpscope::test::ptx {

Machine& machine() { return runtime().machine; }

const Kernel& find_kernel(std::string_view part_of_name) {
  for (const Module& module : runtime().modules)
    for (const auto& [name, kernel] : module.kernels)
      if (name.find(part_of_name) != std::string::npos) return kernel;
  throw std::out_of_range("no such kernel");
}

}  // namespace ulpscope::test::ptx

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  try {
    runtime().modules.push_back(parse(ptx_in(wrapper)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
  runtime().machine.load(runtime().modules.back());
  return reinterpret_cast<void**>(&runtime().modules.back());
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void** module, const char* host_function, char*, const char* name, int,
                            void*, void*, void*, void*, int*) {
  const auto& kernels = reinterpret_cast<const Module*>(module)->kernels;
  if (const auto found = kernels.find(name); found != kernels.end())
    runtime().kernels[host_function] = {&found->second};
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, std::size_t shared,
                                     cudaStream_t stream) {
  runtime().next_launch = {blocks, threads, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads, std::size_t* shared,
                                       void* stream) {
  const LaunchShape& shape = runtime().next_launch;
  *blocks = shape.blocks;
  *threads = shape.threads;
  *shared = shape.shared;
  *static_cast<cudaStream_t*>(stream) = shape.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  const auto found = runtime().kernels.find(host_function);
  if (found == runtime().kernels.end()) return cudaErrorInvalidDeviceFunction;
  *kernel = &found->second;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void** arguments,
                               std::size_t, cudaStream_t stream) {
  const Kernel& code = *kernel->kernel;
  auto parameters = std::make_shared<std::vector<std::byte>>(code.parameter_bytes);
  for (std::size_t i = 0; i < code.parameters.size(); ++i)
    std::memcpy(parameters->data() + code.parameters[i].offset, arguments[i],
                code.parameters[i].bytes);
  return enqueue(stream, [&code, blocks, threads, parameters] {
    runtime().machine.run(code, blocks.x, threads.x, *parameters);
  });
}

}  // extern "C"

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 1;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? "a kernel did what it must not do" : "an error";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void* host_function) {
  return runtime().kernels.contains(host_function) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = allocate(bytes, false);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  *memory = allocate(bytes, true);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  runtime().machine.memory().add(memory, bytes, true);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  release(memory);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  release(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  copy(to, from, bytes);
  return runtime().failure;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return enqueue(stream, [=] { copy(to, from, bytes); });
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  fill(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return enqueue(stream, [=] { fill(memory, value, bytes); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  runtime().streams.push_back(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t error = run(*stream);
  std::erase(runtime().streams, stream);
  delete stream;
  return error;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return run(*stream); }
cudaError_t cudaDeviceSynchronize() {
  for (CUstream_st* stream : runtime().streams) run(*stream);
  return runtime().failure;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status =
      stream->captured != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* number, cudaGraph_t*,
                                     const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                     std::size_t*) {
  *number = 1;
  return cudaStreamIsCapturing(stream, status);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  stream->captured = std::make_unique<CUgraph_st>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->captured.release();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
  *runnable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
  for (const Work& work : runnable->work)
    if (const cudaError_t error = enqueue(stream, work); error != cudaSuccess) return error;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
  delete runnable;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
