#include "dump/rank_numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>

#include "dump/layout.hpp"

namespace ulpscope::dump {
namespace {

/// Folders of ranks and the numbers in their names.
class Folders {
 public:
  Folders(const std::filesystem::path& directory, const std::vector<NumberedOrigin>& ranks)
      : directory_(directory) {
    for (const NumberedOrigin& rank : ranks) numbers.push_back(rank.number);
  }

  /// False if renaming fails.
  [[nodiscard]] bool move(std::size_t rank, std::uint32_t number) {
    if (numbers[rank] == number) return true;
    const auto there = std::find(numbers.begin(), numbers.end(), number);
    if (there != numbers.end() && !rename(static_cast<std::size_t>(there - numbers.begin()), free_))
      return false;
    return rename(rank, number);
  }

  /// A number above all that are in use or requested.
  void keep_free(std::uint32_t number) { free_ = std::max(free_, number + 1); }

  std::vector<std::uint32_t> numbers;

 private:
  [[nodiscard]] bool rename(std::size_t rank, std::uint32_t number) {
    std::error_code error;
    const auto to = rank_path(directory_, number);
    if (std::filesystem::exists(to, error) || error) return false;
    std::filesystem::rename(rank_path(directory_, numbers[rank]), to, error);
    if (error) return false;
    numbers[rank] = number;
    keep_free(number);
    return true;
  }

  const std::filesystem::path& directory_;
  std::uint32_t free_ = 0;
};

}  // namespace

std::vector<std::uint32_t> renumber(const std::filesystem::path& directory,
                                    const std::vector<NumberedOrigin>& ranks) {
  Folders folders(directory, ranks);
  const std::vector<std::uint32_t> wanted = numbers_of(ranks);
  for (const std::uint32_t number : folders.numbers) folders.keep_free(number);
  for (const std::uint32_t number : wanted) folders.keep_free(number);
  for (std::size_t k = 0; k < wanted.size(); ++k)
    if (!folders.move(k, wanted[k])) break;
  return std::move(folders.numbers);
}

}  // namespace ulpscope::dump
