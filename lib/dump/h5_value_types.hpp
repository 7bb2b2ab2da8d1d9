#pragma once

#include <map>

#include "dump/h5.hpp"
#include "ulpscope/dtype.hpp"

namespace ulpscope::dump::h5 {

/// The types of values as h5py and h5dump know them. Bytes are stored as they are in memory; no
/// conversion ever runs.
class ValueTypes {
 public:
  /// Negative for a dtype that no HDF5 type shows. Owned here.
  [[nodiscard]] hid_t find(Dtype dtype);

 private:
  std::map<Dtype, Type> types_;
};

}  // namespace ulpscope::dump::h5
