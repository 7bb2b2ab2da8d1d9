#include "ulpscope/dtype.hpp"

#include <doctest/doctest.h>

#include <string>

using ulpscope::Dtype;

TEST_SUITE("dtype") {
  TEST_CASE("every number has a name of its own, and the name leads back to it") {
    for (int number = 0; number < 256; ++number) {
      const auto dtype = static_cast<Dtype>(number);
      CAPTURE(number);
      CHECK(ulpscope::dtype_from_name(ulpscope::name(dtype)) == dtype);
    }
  }

  TEST_CASE("names are PyTorch's, or a number where there is none") {
    CHECK(ulpscope::name(Dtype::float8_e4m3fn) == "float8_e4m3fn");
    CHECK(ulpscope::name(Dtype::bool_) == "bool");
    CHECK(ulpscope::name(Dtype::bfloat16) == "bfloat16");
    CHECK(ulpscope::name(static_cast<Dtype>(17)) == "dtype17");
    CHECK(ulpscope::name(static_cast<Dtype>(254)) == "dtype254");
  }

  TEST_CASE("spellings that name() does not use are refused") {
    for (const char* name : {"", "float", "Float32", "dtype", "dtype017", "dtype6", "dtype256",
                             "dtype-1", "dtype17 ", "dtype+17"}) {
      CAPTURE(name);
      CHECK_FALSE(ulpscope::dtype_from_name(name).has_value());
    }
  }

  TEST_CASE("sizes and kinds") {
    CHECK(ulpscope::element_size(Dtype::complex128) == 16);
    CHECK(ulpscope::element_size(Dtype::complex32) == 4);
    CHECK(ulpscope::element_size(Dtype::bool_) == 1);
    CHECK(ulpscope::element_size(static_cast<Dtype>(16)) == 0);
    CHECK(ulpscope::element_size(Dtype::undefined) == 0);
    CHECK(ulpscope::is_floating_point(Dtype::float8_e5m2fnuz));
    CHECK_FALSE(ulpscope::is_floating_point(Dtype::complex64));
    CHECK(ulpscope::is_complex(Dtype::complex64));
    CHECK_FALSE(ulpscope::is_complex(Dtype::float64));
  }
}
