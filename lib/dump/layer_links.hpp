#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dump/content_store.hpp"
#include "dump/segment_tables.hpp"
#include "dump/segment_writer.hpp"

namespace ulpscope::dump {

/// The names of values of the current segment in its layer tree.
class LayerLinks {
 public:
  /// Replaces what was under that path before; of a gradient that is accumulated more than once,
  /// the earlier ones become "path@0", "path@1".
  void add(std::string path, bool is_gradient, std::int64_t step, std::uint32_t geometry,
           const LayerDataset& dataset);

  /// By path. `geometry` ids are the segment's.
  void fill(Tables& tables, std::vector<SegmentWriter::Link>& links) const;
  void clear() noexcept { named_.clear(); }

 private:
  struct Named {
    std::int64_t step;
    std::uint32_t geometry;
    LayerDataset dataset;
  };
  std::map<std::string, std::vector<Named>> named_;  ///< the last one has the plain name
};

}  // namespace ulpscope::dump
