#include "compare/tensors/tensor_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "compare/model/renamed_run.hpp"
#include "core/glob.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::comparison {
namespace {

/// The candidate's names as the reference has them.
class Renames {
 public:
  explicit Renames(const std::vector<ModuleRename>& renames)
      : renames_(renames), used_(renames.size(), false) {
    for (const ModuleRename& one : renames_)
      if (std::count(one.reference.begin(), one.reference.end(), '*') !=
          std::count(one.candidate.begin(), one.candidate.end(), '*'))
        throw Error(ErrorCode::usage, fmt::format("'{}' and '{}' do not have as many '*'",
                                                  one.reference, one.candidate));
  }

  [[nodiscard]] std::string apply(std::string path) {
    for (std::size_t k = 0; k < renames_.size(); ++k) {
      auto other =
          rename(path, tensor_path(renames_[k].candidate), tensor_path(renames_[k].reference));
      if (!other) continue;
      used_[k] = true;
      return std::move(*other);
    }
    return path;
  }
  [[nodiscard]] std::vector<const ModuleRename*> unused() const {
    std::vector<const ModuleRename*> result;
    for (std::size_t k = 0; k < renames_.size(); ++k)
      if (!used_[k]) result.push_back(&renames_[k]);
    return result;
  }

 private:
  const std::vector<ModuleRename>& renames_;
  std::vector<bool> used_;
};

/// The tensors of a file by their paths.
using Paths = std::unordered_map<std::string, std::size_t>;

void add(Paths& paths, const TensorFile& file, std::size_t index, const std::string& path) {
  const auto [known, added] = paths.emplace(path, index);
  if (added) return;
  throw Error(ErrorCode::usage,
              fmt::format("in '{}', '{}' and '{}' go by one name, {}", file.path().string(),
                          file.tensors()[known->second].name, file.tensors()[index].name, path),
              "leave one of them out with --ignore, or give it another name with --map");
}

/// Of what a file alone has, takes away plain values if the other one has none at all.
std::uint64_t leave_out_plain(const TensorFile& file, const TensorFile& other,
                              std::vector<std::size_t>& alone) {
  const auto is_plain = [](const StoredTensor& tensor) { return tensor.plain; };
  if (std::any_of(other.tensors().begin(), other.tensors().end(), is_plain)) return 0;
  return std::erase_if(alone, [&](std::size_t k) { return is_plain(file.tensors()[k]); });
}

}  // namespace

std::string tensor_path(std::string_view name) {
  std::string path(name);
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

TensorPairs pair_tensors(const TensorFile& reference, const TensorFile& candidate,
                         const CompareOptions& options) {
  TensorPairs result;
  const auto is_ignored = [&](const std::string& path) {
    return std::any_of(options.ignore.begin(), options.ignore.end(), [&](const auto& glob) {
      return core::glob_match_module(tensor_path(glob), path);
    });
  };
  Renames renames(options.renames);
  Paths ignored;
  Paths candidates;
  for (std::size_t k = 0; k < candidate.tensors().size(); ++k) {
    const std::string path = renames.apply(tensor_path(candidate.tensors()[k].name));
    if (is_ignored(path))
      ignored.emplace(path, k);
    else
      add(candidates, candidate, k, path);
  }
  Paths references;
  std::vector<bool> has_partner(candidate.tensors().size(), false);
  for (std::size_t k = 0; k < reference.tensors().size(); ++k) {
    const std::string path = tensor_path(reference.tensors()[k].name);
    if (is_ignored(path)) {
      ignored.emplace(path, k);
      continue;
    }
    add(references, reference, k, path);
    const auto partner = candidates.find(path);
    if (partner == candidates.end()) {
      result.only_reference.push_back(k);
    } else {
      result.pairs.push_back({k, partner->second});
      has_partner[partner->second] = true;
    }
  }
  for (const auto& [path, k] : candidates)
    if (!has_partner[k]) result.only_candidate.push_back(k);
  std::sort(result.only_candidate.begin(), result.only_candidate.end());
  result.plain = {leave_out_plain(reference, candidate, result.only_reference),
                  leave_out_plain(candidate, reference, result.only_candidate)};
  result.ignored = ignored.size();
  result.unused = renames.unused();
  return result;
}

}  // namespace ulpscope::comparison
