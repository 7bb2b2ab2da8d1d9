#include "capture/sent_content.hpp"

#include <ATen/quantized/Quantizer.h>

#include <span>

#include "capture/filter.hpp"

namespace ulpscope::capture {
namespace {

/// Its digest is of more than its bytes.
bool has_quantiser(const at::Tensor& tensor) {
  return tensor.is_quantized() && tensor.qscheme() == at::kPerTensorAffine;
}

Digest with_quantiser(const at::Tensor& tensor, Digest integers) {
  if (!has_quantiser(tensor)) return integers;
  const struct {
    Digest integers;
    double scale;
    std::int64_t zero_point;
  } parts{integers, tensor.q_scale(), tensor.q_zero_point()};
  return digest(std::as_bytes(std::span(&parts, 1)));
}

}  // namespace

Digest digest_of_value(Thread& thread, const at::Tensor& tensor, const Content& content) {
  return with_quantiser(tensor, digest_of(thread, content));
}

void send_content(Thread& thread, const at::Tensor& tensor, const Content& content,
                  Region& region) {
  const auto bytes = [&] { return content.plain() ? content.span() : resolved(thread, content); };
  // A number that the program writes beside a tensor is an argument, which every level has.
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
    return thread.send_content(region.digest, bytes());
  if (settings().level == ring::Level::digest) return;
  if (settings().level == ring::Level::full) {
    region.no_content = !keeps_bytes(thread) || has_quantiser(tensor);
    if (!region.no_content) thread.send_content(region.digest, bytes());
  } else if (const auto dtype = static_cast<Dtype>(tensor.scalar_type()); element_size(dtype) > 0) {
    thread.send_statistics(region.digest, dtype, bytes());
  }
}

void send_missing_content(Thread& thread, const at::Tensor& tensor, const Content& content,
                          Region& region) {
  if (!region.no_content || region.ticket != 0 || !is_readable(tensor) || !keeps_bytes(thread))
    return;
  if (digest_of_value(thread, tensor, content) == region.digest)
    send_content(thread, tensor, content, region);
}

}  // namespace ulpscope::capture
