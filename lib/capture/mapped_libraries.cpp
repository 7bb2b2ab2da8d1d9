#include "capture/mapped_libraries.hpp"

#include <elf.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ulpscope::capture {
namespace {

std::string hexadecimal(const unsigned char* bytes, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

/// The descriptor of the NT_GNU_BUILD_ID note in a PT_NOTE segment.
std::string build_id_in(const char* notes, std::size_t size) {
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t descriptor = name + aligned(note.n_namesz);
    const std::size_t end = descriptor + aligned(note.n_descsz);
    if (end > size || end < descriptor) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0)
      return hexadecimal(reinterpret_cast<const unsigned char*>(notes + descriptor), note.n_descsz);
    at = end;
  }
  return {};
}

/// What torch.compile has generated and loaded (torch/_inductor/runtime/cache_dir_utils.py).
/// Kernels are events, with what identifies their code.
bool is_generated(std::string_view path) {
  const char* const cache = std::getenv("TORCHINDUCTOR_CACHE_DIR");
  if (cache != nullptr && *cache != '\0' && path.starts_with(cache)) return true;
  return path.find("/torchinductor_") != std::string_view::npos;
}

int add_library(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& libraries = *static_cast<std::vector<MappedLibrary>*>(data);
  const std::string_view path = info->dlpi_name;
  MappedLibrary library;
  library.is_program = libraries.empty();
  if (!library.is_program && is_generated(path)) return 0;
  library.name = path.substr(path.rfind('/') + 1);
  for (int i = 0; i < info->dlpi_phnum && library.build_id.empty(); ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    library.build_id = build_id_in(reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr),
                                   header.p_memsz);
  }
  libraries.push_back(std::move(library));
  return 0;
}

bool is_ours(const MappedLibrary& library) {
  return library.name.starts_with("libulpscope_") || library.name.starts_with("linux-vdso");
}

/// Every entry has the count; the first will do.
int read_count(dl_phdr_info* info, std::size_t /*size*/, void* count) {
  *static_cast<std::uint64_t*>(count) = info->dlpi_adds;
  return 1;
}

}  // namespace

std::vector<MappedLibrary> mapped_libraries() {
  std::vector<MappedLibrary> libraries;
  dl_iterate_phdr(&add_library, &libraries);
  std::erase_if(libraries, [](const MappedLibrary& library) {
    return !library.is_program && (library.name.empty() || is_ours(library));
  });
  return libraries;
}

std::uint64_t libraries_mapped() {
  std::uint64_t count = 0;
  dl_iterate_phdr(&read_count, &count);
  return count;
}

}  // namespace ulpscope::capture
