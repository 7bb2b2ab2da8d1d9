#include "capture/program_symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory_resource>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/memory.hpp"
#include "capture/recorder.hpp"

namespace ulpscope::capture {
namespace {

struct Symbol {
  std::uintptr_t begin = 0;  ///< as the symbol table counts, without the object's load address
  std::uintptr_t end = 0;
  std::string_view name;
};

struct Object {
  std::uintptr_t begin = 0;  ///< mapped addresses of its code
  std::uintptr_t end = 0;
  std::uintptr_t bias = 0;
  std::pmr::string path{&process_memory()};
  bool read = false;
  std::pmr::vector<Symbol> symbols{&process_memory()};
  bool without_debug_information = false;
};

struct Objects {
  std::mutex mutex;
  std::pmr::deque<Object> all{&process_memory()};  ///< stay where they are
  std::pmr::unordered_map<std::uintptr_t, CallPlace> places{&process_memory()};  ///< by address
  const CallPlace nothing{&process_memory()};
};

Objects& objects() {
  static Objects& instance = immortal<Objects>();
  return instance;
}

/// A file mapped for reading, empty if it cannot be.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status {};
    if (fstat(file, &status) == 0 && status.st_size > 0) {
      const auto size = static_cast<std::size_t>(status.st_size);
      void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (memory != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(memory), size};
    }
    close(file);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// `count` structures from `offset`; empty if they are not inside the file.
  template <class T>
  [[nodiscard]] std::span<const T> structures(std::uint64_t offset, std::uint64_t count) const {
    if (offset % alignof(T) != 0 || offset > bytes_.size() ||
        count > (bytes_.size() - offset) / sizeof(T))
      return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), static_cast<std::size_t>(count)};
  }

 private:
  std::span<const std::byte> bytes_;
};

bool is_library_of_torch(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libtorch") || name.starts_with("libc10");
}

/// Members of classes and what is local to functions; not the standard library's and, inside
/// LibTorch, only its modules'.
bool is_wanted(std::string_view name, bool in_torch) {
  if (!name.starts_with("_ZN") && !name.starts_with("_ZZ")) return false;
  if (in_torch) return name.starts_with("_ZN5torch2nn");
  std::string_view scope = name.substr(name.starts_with("_ZNK") ? 4 : 3);
  return !scope.starts_with("St") && !scope.starts_with("S") && !scope.starts_with("9__gnu_cxx") &&
         !scope.starts_with("2at") && !scope.starts_with("3c10");
}

std::string_view kept(std::string_view text) {
  auto* copy = static_cast<char*>(process_memory().allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

void read_symbols(Object& object) {
  object.read = true;
  const MappedFile file(object.path.c_str());
  const auto header = file.structures<ElfW(Ehdr)>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64)
    return;
  const auto sections = file.structures<ElfW(Shdr)>(header[0].e_shoff, header[0].e_shnum);
  const auto find = [&](std::uint32_t type) {
    return std::find_if(sections.begin(), sections.end(),
                        [&](const ElfW(Shdr) & section) { return section.sh_type == type; });
  };
  const bool in_torch = is_library_of_torch(object.path);
  // What LibTorch exports has all of its modules; its full table is a hundred megabytes.
  auto table = in_torch ? sections.end() : find(SHT_SYMTAB);
  if (table == sections.end()) table = find(SHT_DYNSYM);
  if (table == sections.end() || table->sh_link >= sections.size()) return;
  const ElfW(Shdr)& texts = sections[table->sh_link];
  const auto names = file.structures<char>(texts.sh_offset, texts.sh_size);
  for (const ElfW(Sym) & symbol :
       file.structures<ElfW(Sym)>(table->sh_offset, table->sh_size / sizeof(ElfW(Sym)))) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0 ||
        symbol.st_name >= names.size())
      continue;
    const auto rest = names.subspan(symbol.st_name);
    const std::string_view name(rest.data(), strnlen(rest.data(), rest.size()));
    if (is_wanted(name, in_torch))
      object.symbols.push_back({symbol.st_value, symbol.st_value + symbol.st_size, name});
  }
  std::sort(object.symbols.begin(), object.symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
  for (Symbol& symbol : object.symbols) symbol.name = kept(symbol.name);
}

/// Gives inlined calls numbers that differ from each other and from addresses of code.
std::uintptr_t id_of(const Object& object, std::uint64_t call) {
  constexpr std::uintptr_t kNoAddress = std::uintptr_t{1} << 63;
  return kNoAddress | (object.begin + call);
}

void ask_for_place(Object& object, std::uintptr_t address, CallPlace& place) {
  ring::InlinedCalls answer;
  const bool answered = ask_inlined_calls(object.path, address - object.bias, answer);
  if (!answered || answer.has_debug_information == 0) {
    object.without_debug_information = true;
    return;
  }
  place.is_member = answer.is_member != 0;
  place.self = answer.function_self;
  for (std::size_t i = 0; i < answer.size(); ++i)
    place.inlined.push_back(
        {id_of(object, answer.calls[i].id), kept(answer.name(i)), answer.calls[i].self});
}

std::string_view path_of_program() {
  static char path[4096];
  static const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string_view(path, static_cast<std::size_t>(length)) : "/proc/self/exe";
}

int add_object(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& all = *static_cast<std::pmr::deque<Object>*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    const std::string_view path = info->dlpi_name[0] != 0 ? info->dlpi_name : path_of_program();
    const bool known = std::any_of(all.begin(), all.end(), [&](const Object& object) {
      return object.begin == begin && object.path == path;
    });
    if (known) continue;
    Object& object = all.emplace_back();
    object.begin = begin;
    object.end = begin + header.p_memsz;
    object.bias = info->dlpi_addr;
    object.path = path;
  }
  return 0;
}

Object* object_at(std::pmr::deque<Object>& all, std::uintptr_t address) {
  // The object that was mapped last is the current one.
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Object& object) {
    return object.begin <= address && address < object.end;
  });
  return found == all.rend() ? nullptr : &*found;
}

/// @pre the lock is held.
Object* find_object(Objects& known, std::uintptr_t address) {
  if (Object* object = object_at(known.all, address)) return object;
  dl_iterate_phdr(&add_object, &known.all);
  return object_at(known.all, address);
}

}  // namespace

Location location_of(std::uintptr_t address) {
  Objects& known = objects();
  const std::lock_guard guard(known.mutex);
  const Object* object = find_object(known, address);
  if (object == nullptr) return {};
  return {object->path, address - object->bias};
}

Function function_at(std::uintptr_t address) {
  Objects& known = objects();
  const std::lock_guard guard(known.mutex);
  Object* object = find_object(known, address);
  if (object == nullptr) return {};
  if (!object->read) read_symbols(*object);
  const std::uintptr_t inside = address - object->bias;
  auto after = std::upper_bound(
      object->symbols.begin(), object->symbols.end(), inside,
      [](std::uintptr_t value, const Symbol& symbol) { return value < symbol.begin; });
  if (after == object->symbols.begin() || inside >= std::prev(after)->end) return {};
  const Symbol& symbol = *std::prev(after);
  return {symbol.begin + object->bias, symbol.name};
}

const CallPlace& call_place(std::uintptr_t address) {
  Objects& known = objects();
  const std::lock_guard guard(known.mutex);
  Object* object = find_object(known, address);
  if (object == nullptr || object->without_debug_information || is_library(object->path))
    return known.nothing;
  const auto [found, added] = known.places.try_emplace(address, &process_memory());
  if (added) ask_for_place(*object, address, found->second);
  return found->second;
}

bool is_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view known :
       {"libtorch", "libc10", "libulpscope_", "libstdc++", "libc.so", "libgomp", "libpthread"})
    if (name.starts_with(known)) return true;
  return false;
}

void lock_program_symbols() { objects().mutex.lock(); }
void unlock_program_symbols() { objects().mutex.unlock(); }

}  // namespace ulpscope::capture
