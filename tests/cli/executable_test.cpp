#include "cli/record/executable.hpp"

#include <doctest/doctest.h>
#include <elf.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/dump_builder.hpp"

using namespace ulpscope::cli;
using ulpscope::test::TempDir;

namespace {

std::vector<char> bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::filesystem::path write(const TempDir& directory, const std::vector<char>& bytes) {
  const auto path = directory.path() / "program";
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

const std::vector<char>& program() {
  static const std::vector<char> bytes = bytes_of("/bin/sh");
  return bytes;
}

}  // namespace

TEST_SUITE("executable") {
  TEST_CASE("a program is found as execvp finds it") {
    CHECK(find_executable("sh").has_value());
    CHECK(find_executable("/bin/sh") == std::filesystem::path("/bin/sh"));
    CHECK_FALSE(find_executable("/").has_value());
    CHECK_FALSE(find_executable("no-such-program-anywhere").has_value());
  }

  TEST_CASE("a dynamically linked program has no obstacle") {
    const Executable executable = inspect_executable("/bin/sh");
    CHECK(executable.obstacle == Obstacle::none);
    CHECK_FALSE(executable.needs_torch);
  }

  TEST_CASE("without an interpreter a program is static") {
    std::vector<char> bytes = program();
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      char* place = bytes.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
      Elf64_Phdr segment;
      std::memcpy(&segment, place, sizeof segment);
      if (segment.p_type == PT_INTERP) segment.p_type = PT_NULL;
      std::memcpy(place, &segment, sizeof segment);
    }
    const TempDir directory;
    CHECK(inspect_executable(write(directory, bytes)).obstacle == Obstacle::is_static);
  }

  TEST_CASE("another machine's program is foreign") {
    std::vector<char> bytes = program();
    bytes[offsetof(Elf64_Ehdr, e_machine)] = 3;  // EM_386
    const TempDir directory;
    CHECK(inspect_executable(write(directory, bytes)).obstacle == Obstacle::foreign_machine);
  }

  TEST_CASE("no file, a script and a directory have no known obstacle") {
    const TempDir directory;
    CHECK(inspect_executable(directory.path() / "missing").obstacle == Obstacle::none);
    CHECK(inspect_executable(directory.path()).obstacle == Obstacle::none);
    const std::string script = "#!/bin/sh\n";
    CHECK(inspect_executable(write(directory, {script.begin(), script.end()})).obstacle ==
          Obstacle::none);
  }

  TEST_CASE("a program cut off or damaged anywhere in its head is read without harm") {
    const TempDir directory;
    const std::vector<char> start(program().begin(), program().begin() + 1024);
    for (std::size_t size = 0; size <= start.size(); size += 7) {
      (void)inspect_executable(
          write(directory, {start.begin(), start.begin() + static_cast<std::ptrdiff_t>(size)}));
    }
    for (std::size_t i = 0; i < start.size(); ++i) {
      std::vector<char> damaged = start;
      damaged[i] = static_cast<char>(~damaged[i]);
      (void)inspect_executable(write(directory, damaged));
    }
    CHECK(inspect_executable(write(directory, start)).obstacle == Obstacle::none);
  }
}
