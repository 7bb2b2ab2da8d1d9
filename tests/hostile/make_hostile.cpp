#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <string>

#include "dump/segment_reader.hpp"
#include "dump/status.hpp"
#include "dump/whole_dump.hpp"
#include "tests/fuzz/forged_segment.hpp"
#include "tests/fuzz/small_run.hpp"

// What the harnesses of this folder work on:
//   make_hostile DIRECTORY         runs to be damaged, forged dumps, hostile names make_hostile
//   --reseal SEGMENT  gives the changed last segment of a rank 0 the matching digest

namespace {

using namespace ulpscope;
namespace fs = std::filesystem;

constexpr unsigned kSteps = 6;

/// Several segments, other from the third step on if `differs`.
void make_run(const fs::path& directory, const std::string& level, bool differs) {
  test::DumpBuilder dump(directory, {.level = level, .segment_steps = 2});
  auto& lane = dump.lane();
  for (unsigned step = 0; step < kSteps; ++step) {
    test::send_small_step(dump, lane, differs && step >= 2, step);
    auto& op = lane.op("aten::large").no_grad();
    const std::vector<float> large(32'768, static_cast<float>(step));
    test::add_tensor(lane, op, Role::output, 0, test::floats(large));
    lane.send();
  }
  dump.finish();
}

/// A recording that was killed: segments and a journal of several pages.
void make_killed(const fs::path& directory) {
  test::DumpBuilder dump(directory, {.level = "digest", .segment_steps = 40});
  auto& lane = dump.lane();
  for (unsigned step = 0; step < 60; ++step) {
    test::send_small_step(dump, lane, false, step);
    lane.send();
  }
  dump::Status status;  // as it is while a program is recorded
  status.run = dump::read_marks(dump::list_ranks(directory).at(0)).segments.at(0).run;
  status.level = "digest";
  status.reason = "the recording has not ended";
  dump::write_status(directory, status);
}

/// The parts of a segment, its contents moved to where a forged one has them.
test::SegmentParts parts_of(const fs::path& directory) {
  const auto segment = dump::Segment::open(dump::segment_path(dump::rank_path(directory, 0), 0));
  test::SegmentParts parts{{}, segment->tables(), dump::encode(segment->attributes())};
  for (std::size_t i = 0; i < parts.tables.contents.size(); ++i) {
    dump::ContentRow& row = parts.tables.contents[i];
    row.offset = dump::kUserBlockBytes + parts.contents.size();
    const auto bytes = segment->content_of(segment->tables().contents[i]);
    parts.contents.insert(parts.contents.end(), bytes.begin(), bytes.end());
  }
  return parts;
}

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kHugeOffset = std::uint64_t{1} << 63;

struct Forgery {
  const char* name;
  std::function<void(test::SegmentParts&)> change;
};

/// What someone writes who knows the format and makes every digest correct.
const Forgery kForgeries[] = {
    {"sizes_near_2_63",
     [](auto& p) {
       for (auto& d : p.tables.dimensions) d = kHuge;
     }},
    {"sizes_whose_product_is_small",
     [](auto& p) {
       for (auto& d : p.tables.dimensions) d = std::int64_t{1} << 32;
     }},
    {"negative_sizes",
     [](auto& p) {
       for (auto& d : p.tables.dimensions) d = -2;
     }},
    {"zero_strides_of_huge_sizes",
     [](auto& p) {
       for (const auto& g : p.tables.geometries) {
         for (std::size_t i = 0; i < g.dimensions; ++i) {
           p.tables.dimensions[g.first_dimension + i] = kHuge;
           p.tables.dimensions[g.first_dimension + g.dimensions + i] = 0;
         }
       }
     }},
    {"storage_offsets_near_2_63",
     [](auto& p) {
       for (auto& g : p.tables.geometries) g.storage_offset = kHuge;
     }},
    {"unknown_dtypes",
     [](auto& p) {
       for (auto& g : p.tables.geometries) g.dtype = 0xee;
     }},
    {"geometries_share_dimensions",
     [](auto& p) {
       for (auto& g : p.tables.geometries) g.first_dimension = 0;
     }},
    {"contents_beyond_the_file",
     [](auto& p) {
       for (auto& c : p.tables.contents) c.offset = kHugeOffset;
     }},
    {"contents_of_2_63_bytes",
     [](auto& p) {
       for (auto& c : p.tables.contents) c.bytes = kHugeOffset;
     }},
    {"contents_that_are_the_whole_file",
     [](auto& p) {
       for (auto& c : p.tables.contents) c = {c.digest, 0, 6000};
     }},
    {"content_of_other_bytes",
     [](auto& p) {
       for (auto& b : p.contents) b ^= std::byte{1};
     }},
    {"strings_beyond_the_table", [](auto& p) { p.tables.strings.offsets.back() = kHugeOffset; }},
    {"strings_that_go_back", [](auto& p) { p.tables.strings.offsets[2] = 0; }},
    {"names_out_of_range",
     [](auto& p) {
       for (auto& e : p.tables.template_events) e.op = 0xfffffff0;
     }},
    {"events_inside_themselves",
     [](auto& p) {
       for (auto& e : p.tables.template_events) e.parent = 0x7fffffff;
     }},
    {"events_inside_later_ones",
     [](auto& p) {
       for (auto& e : p.tables.template_events) e.parent = 0xfffffff0;
     }},
    {"events_in_a_circle",
     [](auto& p) {
       for (auto& e : p.tables.template_events) e.forward = e.parent = e.position_step;
     }},
    {"slots_beyond_the_template",
     [](auto& p) {
       for (auto& e : p.tables.template_events) e.slots = 0xffff;
     }},
    {"blocks_that_share_a_template_and_digests",
     [](auto& p) {
       const auto block = p.tables.blocks.front();
       p.tables.blocks.assign(100'000, block);
     }},
    {"steps_near_2_63",
     [](auto& p) {
       for (auto& b : p.tables.blocks) b.step = kHuge;
       for (auto& l : p.tables.layers) l.step = kHuge;
     }},
    {"positions_near_2_64",
     [](auto& p) {
       for (auto& b : p.tables.blocks) {
         const auto length = b.last_position - b.first_position;
         b.last_position = ~std::uint64_t{0};
         b.first_position = b.last_position - length;
       }
     }},
    {"lanes_near_2_32",
     [](auto& p) {
       for (auto& b : p.tables.blocks) b.lane = 0xffffffff;
       for (auto& l : p.tables.lanes) l.lane = 0xffffffff;
     }},
    {"arguments_of_any_bytes",
     [](auto& p) {
       for (auto& b : p.tables.arguments.bytes) b = std::byte{0xff};
     }},
    {"attributes_cut_off", [](auto& p) { p.attributes.resize(p.attributes.size() / 2); }},
    {"paths_out_of_the_dump",
     [](auto& p) {
       auto& strings = p.tables.strings;
       const std::string path = "../../../../../../../../tmp/ulpscope-escaped";
       for (auto& layer : p.tables.layers) {
         layer.path = strings.add(std::as_bytes(std::span(path)));
       }
     }},
    {"one_string_of_4_MiB",
     [](auto& p) {
       const std::string text(4U << 20, 'x');
       const auto id = p.tables.strings.add(std::as_bytes(std::span(text)));
       for (auto& op : p.tables.ops) op.name = op.overload = op.argument_names = id;
     }},
};

void reseal(const fs::path& segment) {
  auto file = dump::File::open_for_update(segment);
  // The directory comes after the head of the user block; its digest is the last part of the head.
  struct Head {
    std::uint64_t before[5];
    Digest root_digest;
    std::uint64_t reserved;
  } head{};
  dump::Directory directory;
  file.read_at(0, std::as_writable_bytes(std::span(&head, 1)));
  file.read_at(sizeof head, std::as_writable_bytes(std::span(directory.tables)));
  directory.root_digest = head.root_digest;
  dump::seal(segment, directory, {});
}

/// Gives status.json the seal of its only rank's last segment.
void name_last_segment(const fs::path& directory) {
  auto status = dump::read_status(directory).value();
  const auto last = dump::list_ranks(directory).at(0).segments.back();
  const auto segment = dump::segment_path(dump::rank_path(directory, 0), last);
  status.last_segments = {{0, last, dump::check_seal(dump::File::open(segment)).digest}};
  dump::write_status(directory, status);
}

/// A content that the disk has nothing of, with the digest that its zeros have.
void write_content_in_a_hole(const fs::path& directory, test::SegmentParts parts) {
  const fs::path segment = dump::segment_path(dump::rank_path(directory, 0), 0);
  constexpr std::uint64_t kHole = std::uint64_t{1} << 38;
  DigestStream zeros;
  zeros.update_zeros(kHole);
  parts.tables.contents.push_back({zeros.finish(), 0, kHole});
  test::write_segment(segment, parts);
  parts.tables.contents.back().offset = fs::file_size(segment);
  test::write_segment(segment, parts);
  fs::resize_file(segment, fs::file_size(segment) + kHole);
  reseal(segment);
  name_last_segment(directory);
}

void make_forged(const fs::path& directory) {
  test::write_small_run(directory / "sound");
  test::write_small_run(directory / "other", true);
  const test::SegmentParts sound = parts_of(directory / "sound");
  const auto write = [&](const fs::path& to, const test::SegmentParts& parts) {
    test::write_forged(to, parts);
  };
  write(directory / "forged" / "as_it_should_be", sound);
  for (const Forgery& forgery : kForgeries) {
    test::SegmentParts parts = sound;
    forgery.change(parts);
    write(directory / "forged" / forgery.name, parts);
  }
  const fs::path sparse = directory / "forged" / "content_in_a_hole_of_256_GiB";
  write(sparse, sound);
  write_content_in_a_hole(sparse, sound);
}

/// Bytes that control a terminal, reverse text, end a script, a cell or an annotation, mention
/// somebody, are no characters or not UTF-8.
std::string evil(const std::string& what) {
  return what +
         "\x1b[2J\x1b]0;owned\x07\r\n\t\x7f\xc2\x9b"
         "31m\xe2\x80\xae"
         "drawkcab\xe2\x81\xa6\xe2\x80\x8b\xd8\x9c" +
         "</script><img src=x onerror=alert(1)>&\"'`$(id)\xff\xfe\xc0\x80\xed\xa0\x80"
         "]]></pre></details>\n::error::%0A,:3 \\| | `` @somebody #1 www.x.example "
         "https://x.example "
         "![x](y) **x** $x$\xef\xbf\xbe\xef\xbf\xbf" +
         what;
}

/// A run in which everything that has a name has one that means harm.
void make_names(const fs::path& directory, bool differs) {
  dump::RecordingOptions options;
  options.directory = directory;
  options.level = "full";
  options.creator = evil("creator");
  options.command = {evil("./train"), evil("--flag")};
  test::DumpBuilder dump(directory, options);
  auto& lane = dump.lane(evil("thread"));
  const std::string other = differs ? "2" : "1";
  lane.messages.environment(dump.tick(), evil("threads.intra_op"), evil(other));
  lane.messages.environment(dump.tick(), "threads.intra_op", evil(other));
  lane.messages.environment(dump.tick(), "env." + evil("NAME"), evil(other));
  lane.messages.environment(dump.tick(), "note." + evil("note"), evil(other));
  lane.messages.environment(dump.tick(), "library." + evil("lib"), evil(other));
  // So short that no table leaves out a part.
  lane.messages.environment(dump.tick(), "library.`a|b\\|c``", "<b>|\\|``%0A" + other);
  lane.messages.environment(dump.tick(), "library.@x", "#1 @x" + other);
  lane.messages.notice(false, evil("A notice of the program"));
  const std::string root = evil("Net");
  for (unsigned step = 0; step < 3; ++step) {
    auto& module = lane.begin(EventKind::module, evil("NetClass"));
    module.root(root).module("").module_type(evil("NetType")).object(1);
    test::add_tensor(lane, module, Role::input, 0, test::floats({1, 2}), evil("batch"));
    auto& op = lane.op(evil("aten::mm"), evil("out")).root(root).module(evil("fc"));
    op.module_type(evil("Linear"));
    std::vector<std::byte> buffer(1024);
    ArgumentWriter arguments(buffer);
    arguments.string(3, evil(other));
    op.arguments({arguments.bytes().begin(), arguments.bytes().end()});
    op.row().stack = lane.messages.stack({{evil("/tmp/program"), 16}});
    test::add_tensor(lane, op, Role::input, 0, test::floats({1, 2}), evil("weight"),
                     slot_flag::parameter);
    test::add_tensor(lane, op, Role::output, 0, test::floats({differs ? 3.0F : 4.0F}),
                     evil("result"));
    if (differs) lane.op(evil("aten::only_here")).root(root).module(evil("fc"));
    lane.end();
    auto& update = lane.add(EventKind::optimizer, evil("SGD::step")).no_grad().object(1);
    test::add_tensor(lane, update, Role::mutated, 0, test::floats({differs ? 5.0F : 6.0F}),
                     evil("fc.weight"), slot_flag::parameter);
    lane.send();
  }
  dump.finish(differs ? evil("The program ended") : std::string());
  auto status = dump::read_status(directory).value();
  status.level = evil("full");
  status.reason = differs ? evil("reason") : "";
  status.notes = {evil("note")};
  dump::write_status(directory, status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--reseal") {
    reseal(argv[2]);
    name_last_segment(fs::path(argv[2]).parent_path().parent_path());
    return 0;
  }
  if (argc != 2) {
    std::cerr << "usage: make_hostile DIRECTORY | make_hostile --reseal SEGMENT\n";
    return 2;
  }
  const fs::path directory = argv[1];
  fs::remove_all(directory);
  for (const std::string level : {"full", "digest"}) {
    make_run(directory / level, level, false);
    make_run(directory / (level + "_other"), level, true);
  }
  make_killed(directory / "killed");
  make_forged(directory);
  make_names(directory / "names", false);
  make_names(directory / "names_other", true);
  return 0;
}
