#include "compare/diff/later_names.hpp"

#include <algorithm>

namespace ulpscope::comparison {
namespace {

/// In the runs that have the tensor; empty where these disagree.
[[nodiscard]] std::string_view later_name(const Both<ShownModels>& models,
                                          const Both<std::uint64_t>& storage) {
  const std::string_view reference = models.reference.name_of(storage.reference);
  const std::string_view candidate = models.candidate.name_of(storage.candidate);
  if (storage.reference == kNone) return candidate;
  if (storage.candidate == kNone) return reference;
  return reference == candidate ? reference : std::string_view();
}

}  // namespace

void name_tensors(const Both<ShownModels>& models, Record& record) {
  for (std::size_t k = 0; k < record.finding.tensors.size(); ++k)
    if (const auto name = later_name(models, record.evidence.tensors[k].storage); !name.empty())
      record.finding.tensors[k].name = name;
  for (const Side side : kSides) {
    std::vector<std::string>& names = on(record.evidence.alone_written, side);
    for (const std::uint64_t storage : on(record.evidence.alone_storages, side)) {
      const std::string name(on(models, side).name_of(storage));
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
}

}  // namespace ulpscope::comparison
