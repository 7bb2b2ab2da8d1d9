#include "tensors/stored_tensors.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>

namespace ulpscope::tensors {
namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 31;  // 8 GB of float32

/// Claims its size and is never read.
class Claimed : public Source {
 public:
  [[nodiscard]] std::uint64_t size() const override { return 4 * kElements; }
  [[nodiscard]] std::unique_ptr<ContentReader> stream(std::uint64_t, std::uint64_t) const override {
    return nullptr;
  }
};

[[nodiscard]] StoredTensor tensor(const std::string& name) {
  return {.name = name, .dtype = Dtype::float32, .shape = {kElements}, .unreadable = {}};
}

TEST_SUITE("stored tensors") {
  TEST_CASE("what they claim together is bounded by the size of the file") {
    StoredTensors tensors("file", "format");
    tensors.limit(100);
    const auto source = std::make_shared<Claimed>();
    for (const std::string_view name : {"a", "b", "c"})
      tensors.add(tensor(std::string(name)), {.source = source, .offset = 0, .strides = {1}});
    CHECK(tensors.tensors()[0].unreadable.empty());
    CHECK(tensors.tensors()[1].unreadable.empty());
    CHECK(tensors.tensors()[2].unreadable == "claims far more than the file holds");
  }

  TEST_CASE("a file of that size has them all") {
    StoredTensors tensors("file", "format");
    tensors.limit(std::uint64_t{1} << 40);
    const auto source = std::make_shared<Claimed>();
    for (int k = 0; k < 100; ++k)
      tensors.add(tensor(std::to_string(k)), {.source = source, .offset = 0, .strides = {1}});
    for (const StoredTensor& one : tensors.tensors()) CHECK(one.unreadable.empty());
  }
}

}  // namespace
}  // namespace ulpscope::tensors
