#include "cli/record/executable.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr Elf64_Half kThisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kThisMachine = EM_AARCH64;
#endif

constexpr std::uint64_t kLargestDynamicSection = 1 << 20;
constexpr std::uint64_t kLargestStringTable = 256 << 20;

/// An untrusted file: every read is checked against its size.
class File {
 public:
  explicit File(const fs::path& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status {};
    if (descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
      size_ = static_cast<std::uint64_t>(status.st_size);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  template <class T>
  [[nodiscard]] std::optional<std::vector<T>> read(std::uint64_t offset,
                                                   std::uint64_t count) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) return std::nullopt;
    std::vector<T> items(count);
    auto* to = reinterpret_cast<char*>(items.data());
    std::uint64_t left = count * sizeof(T);
    while (left > 0) {
      const ssize_t got = pread(descriptor_, to, left, static_cast<off_t>(offset));
      if (got <= 0) return std::nullopt;
      to += got;
      offset += static_cast<std::uint64_t>(got);
      left -= static_cast<std::uint64_t>(got);
    }
    return items;
  }

 private:
  int descriptor_;
  std::uint64_t size_ = 0;
};

bool is_privileged(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  const bool other_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
  const bool other_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getegid();
  return other_user || other_group || getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

/// The dynamic section's string table and tags.
struct Dynamic {
  std::vector<Elf64_Dyn> entries;
  std::string strings;

  [[nodiscard]] bool has(Elf64_Sxword tag) const {
    return std::any_of(entries.begin(), entries.end(),
                       [tag](const Elf64_Dyn& entry) { return entry.d_tag == tag; });
  }
  [[nodiscard]] std::uint64_t value(Elf64_Sxword tag) const {
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == tag) return entry.d_un.d_val;
    }
    return 0;
  }
  [[nodiscard]] bool needs(std::string_view prefix) const {
    return std::any_of(entries.begin(), entries.end(), [&](const Elf64_Dyn& entry) {
      return entry.d_tag == DT_NEEDED && entry.d_un.d_val < strings.size() &&
             std::string_view(strings).substr(entry.d_un.d_val).starts_with(prefix);
    });
  }
  [[nodiscard]] bool names(std::string_view symbol) const {
    return strings.find('\0' + std::string(symbol) + '\0') != std::string::npos;
  }
};

std::uint64_t file_offset(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr >= segment.p_filesz) continue;
    return segment.p_offset + (address - segment.p_vaddr);
  }
  return ~std::uint64_t{0};
}

Dynamic read_dynamic(const File& file, const std::vector<Elf64_Phdr>& segments) {
  Dynamic dynamic;
  const auto segment =
      std::find_if(segments.begin(), segments.end(),
                   [](const Elf64_Phdr& candidate) { return candidate.p_type == PT_DYNAMIC; });
  if (segment == segments.end() || segment->p_filesz > kLargestDynamicSection) return dynamic;
  auto entries = file.read<Elf64_Dyn>(segment->p_offset, segment->p_filesz / sizeof(Elf64_Dyn));
  if (!entries) return dynamic;
  dynamic.entries = std::move(*entries);
  const std::uint64_t size = dynamic.value(DT_STRSZ);
  if (size > kLargestStringTable) return dynamic;
  const auto strings = file.read<char>(file_offset(segments, dynamic.value(DT_STRTAB)), size);
  if (strings) dynamic.strings.assign(strings->begin(), strings->end());
  return dynamic;
}

/// The text that a segment holds; empty if it is no path.
std::string text_of(const File& file, const Elf64_Phdr& segment) {
  if (segment.p_filesz > PATH_MAX) return {};
  const auto text = file.read<char>(segment.p_offset, segment.p_filesz);
  if (!text) return {};
  return {text->begin(), std::find(text->begin(), text->end(), '\0')};
}

bool needs_sanitizer(const Dynamic& dynamic) {
  constexpr std::array<std::string_view, 4> kLibraries{"libasan.so", "libtsan.so", "liblsan.so",
                                                       "libhwasan.so"};
  constexpr std::array<std::string_view, 4> kEntries{"__asan_init", "__tsan_init", "__msan_init",
                                                     "__hwasan_init"};
  return std::any_of(kLibraries.begin(), kLibraries.end(),
                     [&](std::string_view library) { return dynamic.needs(library); }) ||
         std::any_of(kEntries.begin(), kEntries.end(),
                     [&](std::string_view entry) { return dynamic.names(entry); });
}

}  // namespace

std::optional<fs::path> find_executable(const std::string& program) {
  const auto is_runnable = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string::npos) {
    return is_runnable(program) ? std::optional<fs::path>(program) : std::nullopt;
  }
  const char* variable = std::getenv("PATH");
  const std::string directories = variable == nullptr ? "/bin:/usr/bin" : variable;
  for (std::size_t begin = 0; begin <= directories.size();) {
    const std::size_t end = std::min(directories.find(':', begin), directories.size());
    const std::string directory = directories.substr(begin, end - begin);
    const fs::path path = fs::path(directory.empty() ? "." : directory) / program;
    if (is_runnable(path)) return path;
    begin = end + 1;
  }
  return std::nullopt;
}

Executable inspect_executable(const fs::path& path) {
  const File file(path);
  const auto headers = file.read<Elf64_Ehdr>(0, 1);
  if (!headers || std::memcmp(headers->front().e_ident, ELFMAG, SELFMAG) != 0) return {};
  const Elf64_Ehdr& header = headers->front();
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kThisMachine) {
    return {.obstacle = Obstacle::foreign_machine};
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  const auto segments = file.read<Elf64_Phdr>(header.e_phoff, header.e_phnum);
  if (!segments) return {};
  const Dynamic dynamic = read_dynamic(file, *segments);

  Executable result;
  result.needs_torch = dynamic.needs("libtorch") || dynamic.needs("libc10.so");
  const auto interpreter =
      std::find_if(segments->begin(), segments->end(),
                   [](const Elf64_Phdr& segment) { return segment.p_type == PT_INTERP; });
  const bool has_interpreter = interpreter != segments->end();
  if (has_interpreter) result.loader = text_of(file, *interpreter);
  const bool is_loader = header.e_type == ET_DYN && dynamic.has(DT_SONAME);
  if (!has_interpreter && !is_loader) {
    result.obstacle = Obstacle::is_static;
  } else if (is_privileged(path)) {
    result.obstacle = Obstacle::privileged;
  } else if (needs_sanitizer(dynamic)) {
    result.obstacle = Obstacle::sanitizer;
  }
  return result;
}

std::string_view in_words(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::none:
      return "nothing is in the way";
    case Obstacle::is_static:
      return "it is statically linked";
    case Obstacle::privileged:
      return "it runs with the rights of a different user, group or capability";
    case Obstacle::sanitizer:
      return "it is built with a sanitizer";
    case Obstacle::foreign_machine:
      return "it is built for a different kind of machine";
  }
  return "";
}

}  // namespace ulpscope::cli
