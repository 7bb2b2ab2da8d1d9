#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <system_error>

#include "cli/inputs/open_run.hpp"
#include "cli/options/command.hpp"
#include "cli/options/options.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/say.hpp"
#include "cli/values/npy.hpp"
#include "core/counts.hpp"
#include "dump/value_file.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/stored_value.hpp"
#include "values/value_name.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

enum class Form : std::uint8_t { npy, h5, directory };

Form form_of(const fs::path& file) {
  if (file.extension() == ".npy") return Form::npy;
  if (file.extension() == ".h5" || file.extension() == ".hdf5") return Form::h5;
  if (file.extension().empty()) return Form::directory;
  throw Error(ErrorCode::usage, fmt::format("'{}' is of no known kind", file.string()),
              "-o takes FILE.npy, FILE.h5, or a directory for one .npy file per value");
}

std::vector<StoredValue> values_to_export(const Run& run, const std::string& glob) {
  auto values = find_values(run, glob);
  if (!values.empty()) return values;
  const bool without_bytes = !stored::parse_slot_path(glob) && run.info().level != "full";
  throw Error(ErrorCode::usage, fmt::format("'{}' has no value '{}'", run.info().path, glob),
              without_bytes ? "values of layers are in dumps recorded with --level full"
                            : fmt::format("ulpscope inspect {} \"**\" lists values of layers",
                                          shell_quoted(run.info().path)));
}

std::vector<std::byte> bytes_of(const Run& run, const StoredValue& value) {
  auto bytes = row_major_bytes(run, value);
  if (!bytes) {
    throw Error(ErrorCode::usage,
                fmt::format("the bytes of '{}' are not in '{}'", value.path, run.info().path),
                "bytes are in dumps recorded with --level full");
  }
  return std::move(*bytes);
}

/// A value's place among the others: ranks apart where there are several.
std::string place_of(const Run& run, const StoredValue& value) {
  if (run.ranks().size() == 1) return value.path;
  return fmt::format("rank{:04}/{}", value.rank, value.path);
}

void write_one_npy(const Run& run, const StoredValue& value, const fs::path& file) {
  const Dtype dtype = value.geometry.dtype;
  write_npy(file, dtype, value.geometry.sizes, bytes_of(run, value));
  if (npy_type(dtype).raw) {
    say(fmt::format("ulpscope: note: NumPy has no {}; '{}' holds its bits as unsigned integers",
                    name(dtype), escaped(file.string())));
  }
}

void write_directory(const Run& run, const std::vector<StoredValue>& values,
                     const fs::path& directory) {
  for (const StoredValue& value : values) {
    const fs::path file = directory / (escaped(place_of(run, value)) + ".npy");
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) {
      throw Error(ErrorCode::io, fmt::format("'{}' could not be made: {}",
                                             file.parent_path().string(), error.message()));
    }
    write_one_npy(run, value, file);
  }
}

/// Under a temporary name until it is complete.
void write_h5(const Run& run, const std::vector<StoredValue>& values, const fs::path& file) {
  const fs::path partial = file.string() + ".partial";
  {
    dump::ValueFile out(partial);
    for (const StoredValue& value : values) {
      out.add(place_of(run, value), value.geometry.dtype, value.geometry.sizes,
              bytes_of(run, value));
    }
    out.close();
  }
  std::error_code error;
  fs::rename(partial, file, error);
  if (error) {
    throw Error(ErrorCode::io,
                fmt::format("'{}' could not be written: {}", file.string(), error.message()));
  }
}

void refuse_to_overwrite(const fs::path& file, bool force) {
  std::error_code ignored;
  if (force || !fs::exists(file, ignored)) return;
  throw Error(ErrorCode::usage, fmt::format("'{}' exists", file.string()), "--force overwrites it");
}

int run_export(const Command& command, Arguments arguments) {
  std::string dump;
  std::string glob;
  fs::path file;
  bool force = false;
  Options options(command);
  options.positional("DUMP", "the dump: DUMP or DUMP@rank=2,steps=10-19", dump);
  options.positional("GLOB", "values: paths of the layer tree, or of an event (17/140913/output.0)",
                     glob);
  options.value("-o,--output", "FILE", "EXPORT", "FILE.npy, FILE.h5, or a directory of .npy files",
                [&file](const std::string&, const std::string& value) { file = value; });
  options.flag("--force", "FORCE", "overwrite what is there", force);
  if (!options.parse(std::move(arguments))) return 0;
  if (file.empty()) {
    throw Error(ErrorCode::usage, "export needs a file to write to",
                "ulpscope export DUMP GLOB -o FILE.npy");
  }

  const Form form = form_of(file);
  const auto run = open_run(dump);
  const auto values = values_to_export(*run, glob);
  if (form == Form::npy && values.size() > 1) {
    throw Error(ErrorCode::usage,
                fmt::format("{} match '{}', and a .npy file holds one",
                            core::counted(values.size(), "value"), glob),
                "-o FILE.h5 or -o DIRECTORY take them all");
  }
  refuse_to_overwrite(file, force);
  switch (form) {
    case Form::npy:
      write_one_npy(*run, values.front(), file);
      break;
    case Form::h5:
      write_h5(*run, values, file);
      break;
    case Form::directory:
      write_directory(*run, values, file);
      break;
  }
  std::cout << fmt::format("{} to {}\n", core::counted(values.size(), "value"),
                           escaped(file.string()))
            << std::flush;
  return 0;
}

}  // namespace

const Command kExportCommand{
    "export",
    "Write recorded values to files that NumPy or h5py read.",
    "DUMP GLOB -o FILE [OPTIONS]",
    "The glob matches paths of the layer tree (steps/000003/forward/layer1*/**) or slots of an "
    "event "
    "(17/140913/output.0; event:2:140913/* on lane 2). One value goes to FILE.npy, any number to "
    "FILE.h5 "
    "under their paths or to a directory with one .npy file each. bfloat16 and fp8, which NumPy "
    "lacks, are written to .npy as the unsigned integers of their bits.",
    "ulpscope export runs/a event:140913/output.0 -o grad.npy\n"
    "ulpscope export runs/a \"steps/000003/**\" -o step3.h5",
    Exit::trouble,
    run_export};

}  // namespace ulpscope::cli
