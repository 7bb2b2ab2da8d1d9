#include "capture/geometry_cache.hpp"

#include <doctest/doctest.h>
#include <torch/types.h>

#include <memory_resource>

using namespace ulpscope;
using capture::GeometryCache;

namespace {

const c10::TensorImpl& impl(const at::Tensor& tensor) { return *tensor.unsafeGetTensorImpl(); }

TEST_SUITE("geometries that are known") {
  TEST_CASE("a tensor of the same geometry has what was found out about another one") {
    GeometryCache cache(std::pmr::new_delete_resource());
    const at::Tensor first = torch::zeros({4, 4});
    CHECK(cache.find(impl(first)) == nullptr);
    cache.remember(impl(first), {.number = 7, .content = {}});
    const auto* const known = cache.find(impl(torch::ones({4, 4})));
    REQUIRE(known != nullptr);
    CHECK(known->number == 7);
  }

  TEST_CASE("whatever differs makes another geometry") {
    GeometryCache cache(std::pmr::new_delete_resource());
    const at::Tensor all = torch::zeros({8, 4, 4});
    const at::Tensor known = all[0];
    cache.remember(impl(known), {.number = 7, .content = {}});
    REQUIRE(cache.find(impl(all[0])) != nullptr);
    CHECK(cache.find(impl(known.t())) == nullptr);
    CHECK(cache.find(impl(all[1])) == nullptr);
    CHECK(cache.find(impl(known.view({4, 2, 2}))) == nullptr);
    CHECK(cache.find(impl(known.view({2, 8}))) == nullptr);
    CHECK(cache.find(impl(torch::zeros({4, 4}, torch::kInt))) == nullptr);
    CHECK(cache.find(impl(torch::zeros({4, 4}, torch::kComplexFloat).conj())) == nullptr);
    const c10::InferenceMode inference;
    CHECK(cache.find(impl(torch::zeros({4, 4}))) == nullptr);
  }

  TEST_CASE("only plain memory of few dimensions is kept") {
    CHECK(GeometryCache::keeps(impl(torch::zeros({}))));
    CHECK(GeometryCache::keeps(impl(torch::zeros({1, 2, 3, 4, 5}).requires_grad_())));
    CHECK_FALSE(GeometryCache::keeps(impl(torch::zeros({1, 2, 3, 4, 5, 6}))));
    CHECK_FALSE(GeometryCache::keeps(impl(torch::zeros({2, 2}).to_sparse())));
    CHECK_FALSE(GeometryCache::keeps(impl(torch::empty({2}, at::Device("meta")))));
  }
}

}  // namespace
