#include "compare/tensors/tensor_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compare/model/renamed_run.hpp"
#include "compare/model/side.hpp"
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

/// Moves out of `alone`, of both files, what one has below an unreadable name of the other, and
/// that name.
void leave_out_behind_unreadable(const Both<const TensorFile*>& files,
                                 const Both<std::vector<std::string>>& paths,
                                 const Both<std::vector<std::size_t>*>& alone,
                                 Both<std::vector<std::size_t>>& behind) {
  for (const Side side : kSides) {
    const Side other = the_other(side);
    Paths unreadable;
    for (const std::size_t k : *on(alone, other))
      if (!on(files, other)->tensors()[k].unreadable.empty())
        unreadable.emplace(on(paths, other)[k], k);
    if (unreadable.empty()) continue;
    std::unordered_set<std::size_t> hiding;
    const auto is_behind = [&](std::size_t k) {
      const std::string& path = on(paths, side)[k];
      for (std::size_t dot = path.find('.'); dot != std::string::npos;
           dot = path.find('.', dot + 1)) {
        const auto found = unreadable.find(path.substr(0, dot));
        if (found == unreadable.end()) continue;
        hiding.insert(found->second);
        return true;
      }
      return false;
    };
    const auto move_if = [](std::vector<std::size_t>& from, std::vector<std::size_t>& to,
                            const auto& moves) {
      const auto moved =
          std::stable_partition(from.begin(), from.end(), [&](std::size_t k) { return !moves(k); });
      to.insert(to.end(), moved, from.end());
      from.erase(moved, from.end());
    };
    move_if(*on(alone, side), on(behind, side), is_behind);
    move_if(*on(alone, other), on(behind, other),
            [&](std::size_t k) { return hiding.contains(k); });
  }
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
  Both<std::vector<std::string>> paths;
  for (std::size_t k = 0; k < candidate.tensors().size(); ++k) {
    const std::string& path =
        paths.candidate.emplace_back(renames.apply(tensor_path(candidate.tensors()[k].name)));
    if (is_ignored(path))
      ignored.emplace(path, k);
    else
      add(candidates, candidate, k, path);
  }
  Paths references;
  std::vector<bool> has_partner(candidate.tensors().size(), false);
  for (std::size_t k = 0; k < reference.tensors().size(); ++k) {
    const std::string& path =
        paths.reference.emplace_back(tensor_path(reference.tensors()[k].name));
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
  leave_out_behind_unreadable({&reference, &candidate}, paths,
                              {&result.only_reference, &result.only_candidate},
                              result.behind_unreadable);
  result.plain = {leave_out_plain(reference, candidate, result.only_reference),
                  leave_out_plain(candidate, reference, result.only_candidate)};
  result.ignored = ignored.size();
  result.unused = renames.unused();
  return result;
}

}  // namespace ulpscope::comparison
