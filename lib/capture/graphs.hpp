#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "capture/content.hpp"
#include "capture/thread.hpp"

/// CUDA graphs (at::cuda::CUDAGraph). The ops of a capture are seen, but compute nothing; when the
/// graph is replayed they compute, and are not seen. So a replay is one event, `CUDAGraph::replay`:
/// its inputs are what the captured ops read that none of them had written before, its results what
/// they wrote, if it is still alive. Both are numbered in the order of the capture.
namespace ulpscope::capture {

/// CUDAGraph::capture_begin has returned.
void graph_capture_begins(const void* graph) noexcept;
/// CUDAGraph::capture_end has returned, or has thrown.
void graph_capture_ends(const void* graph) noexcept;

/// Whether any graph is being captured.
[[nodiscard]] bool graphs_are_captured() noexcept;

/// An op whose work is captured reads or writes a tensor.
void graph_reads(const at::Tensor& tensor, const Content& content);
void graph_writes(const at::Tensor& tensor, const Content& content);

/// CUDAGraph::replay, from before to after it.
class GraphReplay {
 public:
  explicit GraphReplay(const void* graph) noexcept;
  ~GraphReplay();
  GraphReplay(const GraphReplay&) = delete;
  GraphReplay& operator=(const GraphReplay&) = delete;

 private:
  const void* graph_;
  Thread* thread_;
  int exceptions_;
  std::size_t frames_ = 0;  ///< number of frames including its own; 0: it is not an event
};

void lock_graphs();  ///< for fork()
void unlock_graphs();

}  // namespace ulpscope::capture
