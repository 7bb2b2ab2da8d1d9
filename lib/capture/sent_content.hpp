#pragma once

#include <ATen/core/Tensor.h>

#include "capture/content.hpp"
#include "capture/storage_table.hpp"
#include "capture/thread.hpp"

/// What is sent of a value: its digest, and what the level needs beyond that.
namespace ulpscope::capture {

/// Of a tensor in the program's memory. A quantized value is its integers and their meaning.
[[nodiscard]] Digest digest_of_value(Thread& thread, const at::Tensor& tensor,
                                     const Content& content);

/// Sends the statistics or the bytes of a region that has its digest. Its bytes stay missing
/// (`Region::no_content`) if the settings leave them out for what the thread sees now.
void send_content(Thread& thread, const at::Tensor& tensor, const Content& content, Region& region);

/// Sends bytes that were left out when the region was written, if they are wanted now and still
/// have the region's digest.
void send_missing_content(Thread& thread, const at::Tensor& tensor, const Content& content,
                          Region& region);

}  // namespace ulpscope::capture
