// Unusual tensors and calls, each of which a recording must survive without affecting the program.
// Prints one line per case: its name and a sum over the bytes that it computed.

#include <torch/torch.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::uint64_t byte_sum(const at::Tensor& tensor) {
  const at::Tensor packed = tensor.detach().resolve_conj().resolve_neg().contiguous();
  const auto* bytes = static_cast<const unsigned char*>(packed.const_data_ptr());
  std::uint64_t sum = 1469598103934665603ULL;
  for (std::size_t i = 0; i < packed.nbytes(); ++i) sum = (sum ^ bytes[i]) * 1099511628211ULL;
  return sum;
}

void print(const std::string& name, const at::Tensor& tensor) {
  std::printf("%s %016llx\n", name.c_str(), static_cast<unsigned long long>(byte_sum(tensor)));
}

void every_dtype() {
  for (const auto dtype : {at::kByte,
                           at::kChar,
                           at::kShort,
                           at::kInt,
                           at::kLong,
                           at::kHalf,
                           at::kFloat,
                           at::kDouble,
                           at::kComplexHalf,
                           at::kComplexFloat,
                           at::kComplexDouble,
                           at::kBool,
                           at::kBFloat16,
                           at::kFloat8_e5m2,
                           at::kFloat8_e4m3fn,
                           at::kFloat8_e5m2fnuz,
                           at::kFloat8_e4m3fnuz,
                           at::kUInt16,
                           at::kUInt32,
                           at::kUInt64}) {
    const at::Tensor value = torch::arange(6, at::kFloat).to(dtype).clone();
    print(std::string("dtype ") + c10::toString(dtype), value.view(at::kByte));
  }
}

void shapes() {
  print("zero size", torch::zeros({0, 7}) + 1);
  print("scalar", torch::scalar_tensor(2.5) * 2);
  const at::Tensor base = torch::arange(24, at::kFloat).reshape({4, 6});
  print("slice", base.slice(1, 1, 5, 2) + 1);
  print("expanded", base.select(0, 1).expand({3, 6}) * 2);
  print("transposed", base.t() + base.t());
  print("channels last", torch::arange(120, at::kFloat)
                                 .reshape({2, 3, 4, 5})
                                 .contiguous(at::MemoryFormat::ChannelsLast) *
                             3);
  at::Tensor overlapping = torch::arange(10, at::kFloat).as_strided({4, 3}, {2, 1});
  print("overlapping", overlapping + 1);
}

void bits() {
  const at::Tensor complex = torch::complex(torch::arange(4, at::kFloat), torch::ones({4}));
  print("conj", torch::view_as_real((complex.conj() * 2).resolve_conj()));
  print("neg", at::imag(complex.conj()) + 1);
}

void layouts() {
  const at::Tensor indices = torch::tensor({{0, 1, 1}, {2, 0, 2}});
  at::Tensor sparse = torch::sparse_coo_tensor(indices, torch::ones({3}), {2, 3}).coalesce();
  print("sparse", (sparse * 2).to_dense());
  print("sparse mm", torch::mm(sparse, torch::ones({3, 2})));
  const at::Tensor quantised =
      at::quantize_per_tensor(torch::arange(6, at::kFloat), 0.5, 2, at::kQUInt8);
  print("quantised", quantised.dequantize());
  print("meta", torch::ones(torch::empty({3}, at::kMeta).sizes()));
}

/// A tensor that does not say what shape it has.
struct Shapeless : c10::TensorImpl {
  Shapeless()
      : c10::TensorImpl(c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>(),
                        c10::Device(at::kCPU)) {
    set_custom_sizes_strides(SizesStridesPolicy::CustomSizes);
  }
  c10::IntArrayRef sizes_custom() const override { throw std::runtime_error("no sizes"); }
  c10::IntArrayRef strides_custom() const override { throw std::runtime_error("no strides"); }
  std::int64_t numel_custom() const override { throw std::runtime_error("no elements"); }
};

/// A tensor that LibTorch cannot describe loses only its own value.
void shapeless() {
  const at::Tensor nested = at::_nested_tensor_from_tensor_list(
      {torch::ones({2, 3}), torch::arange(4, at::kFloat).reshape({1, 4})});
  for (const at::Tensor& part : (nested * 2).unbind()) print("part of a nested one", part);
  const at::Tensor rows = torch::arange(6, at::kFloat).reshape({2, 3});
  print("sparse CSR", torch::mm(rows.to_sparse_csr(), torch::ones({3, 2})));
  print("mkldnn", (rows.to_mkldnn() + rows.to_mkldnn()).to_dense());
  const at::Tensor own(c10::make_intrusive<Shapeless>());
  try {
    (void)own.neg();
  } catch (const std::exception&) {
    std::puts("an op on it threw");
  }
  print("after a tensor without a shape", rows + 1);
}

void throwing() {
  try {
    (void)torch::mm(torch::ones({2, 3}), torch::ones({2, 3}));
  } catch (const c10::Error&) {
    std::puts("op threw");
  }
  print("after a throw", torch::ones({2}) + 1);
}

void inference() {
  const c10::InferenceMode guard;
  at::Tensor value = torch::ones({3});
  value.add_(1);
  print("inference mode", value * 2);
}

void gradients() {
  const at::Tensor x = torch::arange(3, at::kFloat).set_requires_grad(true);
  const at::Tensor w = torch::ones({3}).set_requires_grad(true);
  const auto gradient = torch::autograd::grad({(x * w).pow(2).sum()}, {x, w});
  print("autograd::grad", gradient[0] + gradient[1]);
  at::Tensor hooked = torch::ones({2}).set_requires_grad(true);
  hooked.register_hook([](const at::Tensor& incoming) { return incoming * 3; });
  (hooked * hooked).sum().backward();
  print("hook", hooked.grad());
}

struct Doubled : torch::autograd::Function<Doubled> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return x * 2;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list incoming) {
    return {incoming[0] * 2 + context->get_saved_variables()[0] * 0};
  }
};

void custom_function() {
  const at::Tensor x = torch::ones({4}).set_requires_grad(true);
  Doubled::apply(x).sum().backward();
  print("custom function", x.grad());
}

void foreign_memory() {
  std::vector<float> memory(8, 1.0F);
  const at::Tensor view = torch::from_blob(memory.data(), {8});
  const at::Tensor again = torch::from_blob(memory.data(), {4, 2});
  print("from_blob", view + 1);
  again.mul_(2);
  print("from_blob after a write through another tensor", view + 1);
  memory[3] = 7;
  print("from_blob after a write of our own", view + 1);
}

void half_filled() {
  at::Tensor buffer = torch::empty({4, 2});
  buffer.slice(0, 0, 2).fill_(1);
  buffer.slice(0, 2, 4).fill_(2);
  print("filled in two parts", buffer + 1);
}

void resized() {
  at::Tensor value = torch::ones({2, 2});
  value.resize_({1, 2});
  print("resized", value + 1);
  at::Tensor out = torch::empty({0});
  at::add_out(out, torch::ones({5}), torch::ones({5}));
  print("out", out);
}

void generators() {
  torch::manual_seed(3);
  at::Generator own = at::detail::createCPUGenerator(7);
  print("own generator", at::rand({4}, own));
  print("default generator", torch::randn({20}));
  print("randperm", torch::randperm(10));
}

void threads() {
  std::vector<at::Tensor> results(4);
  std::vector<std::thread> workers;
  const at::Tensor shared = torch::arange(1000, at::kFloat);
  for (std::size_t i = 0; i < results.size(); ++i)
    workers.emplace_back([&results, &shared, i] {
      const torch::NoGradGuard guard;
      at::Tensor sum = torch::zeros({1000});
      for (int k = 0; k < 50; ++k) sum = sum + shared * static_cast<float>(i + 1);
      results[i] = sum;
    });
  for (std::thread& worker : workers) worker.join();
  for (std::size_t i = 0; i < results.size(); ++i) print("thread " + std::to_string(i), results[i]);
}

void lists() {
  std::vector<at::Tensor> values = {torch::ones({2}), torch::ones({3})};
  at::_foreach_mul_(values, 3);
  print("foreach", at::cat(values));
  print("index",
        torch::arange(12).reshape({3, 4}).index({torch::tensor({2, 0}), torch::indexing::Slice()}));
  print("split", torch::arange(6).split(2)[1]);
}

}  // namespace

int main() {
  torch::manual_seed(1);
  every_dtype();
  shapes();
  bits();
  layouts();
  shapeless();
  throwing();
  inference();
  gradients();
  custom_function();
  foreign_memory();
  half_filled();
  resized();
  generators();
  threads();
  lists();
}
