#include "dump/layer_links.hpp"

#include <utility>

namespace ulpscope::dump {

void LayerLinks::add(std::string path, bool is_gradient, std::int64_t step, std::uint32_t geometry,
                     const LayerDataset& dataset) {
  auto& named = named_[std::move(path)];
  if (!is_gradient) named.clear();
  named.push_back({step, geometry, dataset});
}

void LayerLinks::fill(Tables& tables, std::vector<SegmentWriter::Link>& links) const {
  for (const auto& [path, named] : named_) {
    for (std::size_t i = 0; i < named.size(); ++i) {
      const bool last = i + 1 == named.size();
      const std::string name = last ? path : path + '@' + std::to_string(i);
      tables.layers.push_back({named[i].step, named[i].dataset.digest,
                               tables.strings.add(bytes_of(std::string_view(name))),
                               named[i].geometry});
      links.push_back({name, named[i].dataset.number});
    }
  }
}

}  // namespace ulpscope::dump
