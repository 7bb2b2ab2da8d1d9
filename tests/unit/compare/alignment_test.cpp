#include <map>
#include <random>
#include <set>

#include "compare/align/sequence_alignment.hpp"
#include "compare/model/window.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::comparison;
using namespace ulpscope::test;

namespace {

[[nodiscard]] std::vector<SequenceElement> elements(const std::string& text) {
  std::vector<SequenceElement> result;
  for (const char c : text) result.push_back({static_cast<std::uint64_t>(c), 0, 0, false});
  return result;
}

/// Length of the longest common subsequence, computed directly.
[[nodiscard]] std::size_t longest_common(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      best[i][j] = a[i] == b[j] ? best[i + 1][j + 1] + 1 : std::max(best[i + 1][j], best[i][j + 1]);
  return best[0][0];
}

[[nodiscard]] std::string random_text(std::mt19937& random, std::size_t size, int letters) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i)
    text += static_cast<char>('a' + static_cast<int>(random() % static_cast<unsigned>(letters)));
  return text;
}

void check_valid(const SequenceAlignment& alignment, const std::string& a, const std::string& b) {
  for (std::size_t k = 0; k < alignment.pairs.size(); ++k) {
    const auto [i, j] = alignment.pairs[k];
    REQUIRE(i < a.size());
    REQUIRE(j < b.size());
    CHECK(a[i] == b[j]);
    if (k == 0) continue;
    CHECK(alignment.pairs[k - 1].first < i);
    CHECK(alignment.pairs[k - 1].second < j);
  }
}

}  // namespace

TEST_SUITE("alignment") {
  TEST_CASE("small sequences get the longest common subsequence") {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
      const std::string a = random_text(random, random() % 30, 4);
      const std::string b = random_text(random, random() % 30, 4);
      CAPTURE(a);
      CAPTURE(b);
      const SequenceAlignment alignment = align(elements(a), elements(b));
      check_valid(alignment, a, b);
      CHECK(alignment.pairs.size() == longest_common(a, b));
    }
  }

  TEST_CASE("the search in linear space finds a shortest edit script") {
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
      // Doubled letters: no element is unique, so that nothing is anchored.
      const std::string half_a = random_text(random, 2 + random() % 40, 3);
      const std::string half_b = random_text(random, 2 + random() % 40, 3);
      const std::string a = "abc" + half_a + "abc" + half_a;
      const std::string b = "cba" + half_b + "abc" + half_b;
      CAPTURE(a);
      CAPTURE(b);
      const SequenceAlignment alignment = align(elements(a), elements(b), {.exact_cells = 0});
      check_valid(alignment, a, b);
      CHECK(alignment.pairs.size() == longest_common(a, b));
    }
  }

  TEST_CASE("a stretch with too many differences is given up, not guessed") {
    std::mt19937 random(5);
    const std::string a = random_text(random, 800, 5);
    const std::string b = random_text(random, 800, 5);
    const SequenceAlignment alignment =
        align(elements(a), elements(b), {.exact_cells = 16, .differences = 32});
    CHECK(alignment.pairs.size() < 20);
    CHECK(alignment.given_up == a.size() + b.size() - 2 * alignment.pairs.size());
  }

  TEST_CASE("a long stretch that mostly agrees is aligned in pieces") {
    std::mt19937 random(4);
    std::string a;
    std::string b;
    for (int k = 0; k < 4000; ++k) {
      a += static_cast<char>('a' + random() % 5);
      b += a.back();
      if (k % 40 == 0) b += static_cast<char>('a' + random() % 5);
    }
    const SequenceAlignment alignment =
        align(elements(a), elements(b), {.exact_cells = 16, .differences = 32});
    check_valid(alignment, a, b);
    CHECK(alignment.pairs.size() > a.size() - 20);
    CHECK(alignment.given_up == 0);
  }

  TEST_CASE("elements that the other sequence lacks cost no search") {
    std::string a = "xyxyzxxz";
    std::string b = a.substr(0, 4) + std::string(5000, 'q') + a.substr(4);
    const SequenceAlignment alignment =
        align(elements(a), elements(b), {.exact_cells = 256, .differences = 32});
    CHECK(alignment.pairs.size() == a.size());
    CHECK(alignment.given_up == 0);
  }

  TEST_CASE("among equal elements the values decide") {
    const auto element = [](std::uint64_t value) {
      return SequenceElement{1, value, value, false};
    };
    const std::vector<SequenceElement> a{element(1), element(2), element(3)};
    const std::vector<SequenceElement> b{element(9), element(1), element(2), element(8),
                                         element(3)};
    const SequenceAlignment alignment = align(a, b);
    CHECK(alignment.pairs ==
          std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 2}, {2, 4}});
  }

  TEST_CASE("so they do in the pieces of a stretch that is too large to be solved as a whole") {
    const auto spelled = [](std::string_view text) {
      std::vector<SequenceElement> result;
      for (std::size_t k = 0; k < text.size(); k += 2) {
        const auto value = static_cast<std::uint64_t>(text[k + 1]);
        result.push_back({static_cast<std::uint64_t>(text[k]), value, value, false});
      }
      return result;
    };
    const auto a = spelled("a1a2a2a2b1b2b1a1a2");
    const auto b = spelled("a3b1b2a2a2a1b2b1a1");
    const SequenceAlignment alignment = align(a, b, {.exact_cells = 30});
    CHECK(alignment.pairs.size() == 7);
    CHECK(std::ranges::count_if(alignment.pairs, [&](const auto& pair) {
            return a[pair.first].inputs == b[pair.second].inputs;
          }) == 4);
  }

  TEST_CASE("the end of a scope is the partner of one that leaves the same") {
    using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
    const auto end = [](std::uint64_t value) { return SequenceElement{1, value, value, true}; };
    const auto op = [](std::uint64_t value) { return SequenceElement{2, value, value, false}; };
    CHECK(align({end(1), end(2), op(5)}, {end(2), op(6)}).pairs == Pairs{{1, 0}, {2, 1}});
    // Equal values count for more than an op with other ones.
    CHECK(align({end(7), op(1)}, {op(2), end(7)}).pairs == Pairs{{0, 1}});
    CHECK(align({end(7), op(1)}, {op(1), end(7)}).pairs == Pairs{{1, 0}});
  }

  TEST_CASE("rounds of a loop keep their partners where another round agrees in a value") {
    const auto rounds = [](std::vector<std::uint64_t> masks, std::uint64_t sum) {
      std::vector<SequenceElement> result;
      for (const std::uint64_t mask : masks) {
        result.push_back({'e', 0, 0, false});
        result.push_back({'m', 0, mask, false});
        result.push_back({'s', mask, ++sum, false});
      }
      return result;
    };
    const auto reference = rounds({1, 2, 3, 4, 9, 9, 9}, 100);
    const auto candidate = rounds({2, 3, 4, 8, 9, 9, 9}, 200);
    const SequenceAlignment alignment = align(reference, candidate);
    REQUIRE(alignment.pairs.size() == reference.size());
    for (const auto& [i, j] : alignment.pairs) CHECK(i == j);
    // A round that has really moved has the same values throughout.
    const auto moved = align(rounds({1, 2, 3, 4}, 100), rounds({2, 3, 4, 1}, 101));
    CHECK(moved.pairs.size() == 9);
    CHECK(std::ranges::count(moved.pairs, std::pair<std::uint32_t, std::uint32_t>(4, 1)) == 1);
  }

  TEST_CASE("a hundred insertions among 100,000 events cost a few looks at each event") {
    std::mt19937 random(3);
    std::set<std::size_t> at;
    while (at.size() < 100) at.insert(random() % 100000);
    for (const bool equal_values : {true, false}) {
      std::vector<SequenceElement> a;
      std::vector<SequenceElement> b;
      for (std::size_t k = 0; k < 100000; ++k) {
        const std::uint64_t value = equal_values ? k + 1 : 0;
        const SequenceElement element{1 + k % 7, value, value, false};
        if (at.contains(k)) b.push_back({1 + random() % 7, 0, 0, false});
        a.push_back(element);
        b.push_back(element);
      }
      const SequenceAlignment alignment = align(a, b);
      CAPTURE(equal_values);
      CHECK(alignment.pairs.size() == 100000);
      CHECK(alignment.operations < 100 * (a.size() + b.size()));
    }
  }

  TEST_CASE("a run of 100,000 events with 100 extra ops is aligned, in one step or many") {
    for (const int steps : {1, 100}) {
      CAPTURE(steps);
      const Report report = report_of([steps](RunBuilder& run, bool changed) {
        run.phase(Phase::forward).split_blocks(5000);
        const Tensor x = run.data(labelled("x"));
        for (int k = 0; k < 100000; ++k) {
          run.step(k * steps / 100000);
          if (changed && k % 1000 == 500) run.op("aten::cat").out(labelled("extra"));
          run.op("aten::op" + std::to_string(k % 13)).in(x).out({static_cast<double>(k)});
        }
      });
      CHECK(report.verdict == Verdict::identical);
      CHECK(report.coverage.aligned == 100000);
      CHECK(report.coverage.only_candidate == 100);
      CHECK(diverging(report) == 0);
    }
  }

  TEST_CASE("a step that comes in parts is one step") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward).split_blocks(3);
      run.module("block", [&] {
        Tensor x = run.data(labelled("x"));
        for (int k = 0; k < 20; ++k) {
          const std::string tag = (changed && k >= 11 ? "b" : "a") + std::to_string(k);
          x = run.composite("aten::outer", [&](EventBuilder& outer) {
            outer.in(x);
            return run.op("aten::inner").in(x).out(labelled(tag));
          });
        }
      });
    };
    const Report report = report_of(program);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::inner");
    CHECK(report.findings[0].module == "block");
    CHECK(report.findings[0].event.reference == 24);
    CHECK(report.coverage.aligned == 41);
    CHECK(report.propagated.events == 8);
  }

  TEST_CASE("layers that are made in another order are not the same ones with other shapes") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const auto norm = [&](std::size_t width) {
        const Tensor weight = run.op("aten::empty").out_uninitialised(labelled("garbage", width));
        run.op("aten::fill_").given(weight).writes(weight, labelled("ones", width));
      };
      const auto linear = [&](std::size_t width) {
        const Tensor weight =
            run.op("aten::zeros").out(labelled("w" + std::to_string(width), 2 * width));
        run.op("aten::uniform_")
            .given(weight)
            .writes(weight, labelled("u" + std::to_string(width), 2 * width));
      };
      for (const std::size_t width : {4, 8, 16}) {
        if (changed) norm(width);
        linear(width);
        if (!changed) norm(width);
      }
      run.step(0).phase(Phase::forward);
      run.op("aten::mm").in(run.data(labelled("x"))).out(labelled("y"));
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(first_cause(report) == "harmless-rewrite");
  }

  TEST_CASE("a layer that is made wider is the same one with another shape") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const std::vector<std::int64_t> sizes{changed ? 8 : 4};
      const auto width = static_cast<std::size_t>(sizes[0]);
      const Tensor weight =
          run.op("aten::empty").arg("size", sizes).out_uninitialised(labelled("garbage", width));
      run.op("aten::fill_").given(weight).writes(weight, labelled("ones", width));
      run.step(0).phase(Phase::forward);
      run.op("aten::mm").in(weight, "mat2").out(labelled("y", width));
    });
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].kind == FindingKind::arguments);
    CHECK(report.findings[0].op == "aten::empty");
  }

  TEST_CASE("other shapes are aligned by name and told as metadata") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const auto rows = static_cast<std::size_t>(changed ? 8 : 4);
      const Tensor x = run.data(labelled("x", rows));
      const Tensor y = run.op("aten::exp").in(x, "self").out(labelled("y", rows));
      run.op("aten::sin").in(y).out(labelled("z", rows));
    });
    CHECK(report.verdict == Verdict::diverged);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::metadata);
    CHECK(report.findings[0].op == "aten::exp");
    CHECK(cause_ids(report) == "batch-size");
    CHECK(report.propagated.events == 1);
  }

  TEST_CASE("backward of an op that both runs have is no partner of another op's backward") {
    for (const bool before : {false, true}) {
      CAPTURE(before);
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        const Tensor x = run.data(labelled("x"));
        const std::uint64_t both = run.next_position();
        run.op("aten::mm").in(x).out(labelled("y"));
        const std::uint64_t alone = run.next_position();
        if (changed) run.op("aten::mm").in(x).arg("n", 2).out(labelled("z"));
        run.op("aten::ones").out(labelled("one"));
        run.backward(true);
        const auto back = [&](std::uint64_t of, const std::string& name, std::uint32_t count) {
          run.node("MmBackward0", of, [&] {
            run.op("aten::mm").in(run.data(labelled("g" + name, count))).out(labelled(name, count));
          });
        };
        if (changed && before) back(alone, "lone", 6);
        back(both, changed ? "b" : "a", changed ? 8 : 4);
        if (changed && !before) back(alone, "lone", 6);
      });
      for (const Finding& finding : report.findings)
        for (const TensorReport& tensor : finding.tensors)
          if (finding.event.reference && finding.event.candidate)
            CHECK(tensor.shape.candidate == std::vector<std::int64_t>{8});
    }
  }

  TEST_CASE("an op is no partner of one from another call that both runs make") {
    const auto call = [](RunBuilder& run, int line, const std::string& drawn) {
      const std::string text = line == 3 ? "fake = net(noise())" : "real = net(noise())";
      run.op("aten::exp")
          .in(run.data(labelled(drawn)))
          .stack("gan.py:" + std::to_string(line) + " train\t" + text + "\t.")
          .out(labelled("exp " + drawn));
    };
    const Report report = report_of(
        [&](RunBuilder& run) {
          run.step(0).phase(Phase::data);
          call(run, 3, "first");
          call(run, 4, "second");
        },
        [&](RunBuilder& run) {
          run.step(0).phase(Phase::data);
          call(run, 3, "first");
          call(run, 3, "second");
          call(run, 4, "third");
        });
    CHECK(report.coverage.only_reference == 0);
    CHECK(report.coverage.only_candidate == 1);
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->where == "gan.py:3");
  }

  TEST_CASE("an op from a call that one run alone makes may stand in another one's place") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      run.op("aten::layer_norm")
          .in(run.data(labelled("x")))
          .arg("eps", changed ? 1e-6 : 1e-5)
          .stack(changed ? "net.py:5 norm\tnorm(x, 1e-6)\t." : "net.py:3 norm\tnorm(x)\t.")
          .out(labelled(changed ? "z" : "y"));
    });
    REQUIRE(report.first() != nullptr);
    CHECK(report.first()->kind == FindingKind::arguments);
  }

  TEST_CASE("a call that both runs make may stand in the place of one that only one run makes") {
    const auto norm = [](RunBuilder& run, const std::string& of, double eps, int line) {
      const std::string text = line == 3 ? "norm(x, eps)" : "slow_norm(x, eps)";
      run.op("aten::layer_norm")
          .in(run.data(labelled(of)))
          .arg("eps", eps)
          .stack("net.py:" + std::to_string(line) + " f\t" + text + "\t.")
          .out(labelled(of + std::to_string(eps)));
    };
    const Report report = report_of([&](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      norm(run, "first", 1e-5, 3);
      norm(run, "second", changed ? 1e-3 : 1e-5, changed ? 3 : 4);
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.first()->kind == FindingKind::arguments);
  }

  TEST_CASE("independent ops of one kind in another order change nothing") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const auto scale = [&](double by) {
        const std::string made = "x by " + std::to_string(by);
        return run.op("aten::mul").in(x).arg("other", by).out(labelled(made));
      };
      const Tensor first = scale(changed ? 0.3 : 0.7);
      const Tensor second = scale(changed ? 0.7 : 0.3);
      run.op("aten::add").in(first).in(second).out(labelled("sum"));
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(std::none_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
      return finding.kind == FindingKind::arguments;
    }));
  }

  TEST_CASE("a number that the program gives an op is no tensor that moves with it") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor x = run.data(labelled("x"));
      run.step(0).phase(Phase::forward);
      for (const bool first : {!changed, changed}) {
        const Tensor by = run.data(labelled("0.5"));
        run.op("aten::div")
            .in(x)
            .given(by, slot_flag::wrapped_number)
            .arg("rounding_mode", first ? 1 : 2)
            .out(labelled(first ? "y" : "z"));
      }
      run.op("aten::neg").in(x).out(labelled("w"));
    });
    CHECK(std::none_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
      return finding.kind == FindingKind::arguments;
    }));
  }

  TEST_CASE("what is written to equal tensors in each other's place has not moved") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      std::vector<Tensor> means;
      for (int k = 0; k < 2; ++k)
        means.push_back(run.op("aten::zeros").flag(event_flag::factory).out(labelled("0")));
      for (int k = 0; k < 2; ++k) {
        const int decay = changed ? 2 - k : k + 1;
        const Tensor& mean = means[static_cast<std::size_t>(k)];
        run.op("aten::mul_")
            .in(mean)
            .arg("other", decay)
            .writes(mean, labelled("by " + std::to_string(decay)));
      }
    });
    CHECK(report.verdict != Verdict::identical);
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].kind == FindingKind::arguments);
  }

  TEST_CASE("a loop over parameters that updates their momenta may go through them in any order") {
    const std::vector<std::size_t> straight{0, 1, 2, 3};
    for (const std::vector<std::size_t>& order :
         {std::vector<std::size_t>{3, 2, 1, 0}, std::vector<std::size_t>{1, 0, 3, 2}}) {
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        std::vector<Tensor> parameters;
        std::vector<Tensor> momenta;
        for (const std::size_t k : straight) {
          parameters.push_back(run.data(labelled("parameter " + std::to_string(k))));
          momenta.push_back(run.op("aten::zeros").flag(event_flag::factory).out(labelled("0")));
        }
        for (int step = 0; step < 3; ++step) {
          run.step(step).phase(Phase::forward);
          for (int op = 0; op < 20; ++op)
            run.op("aten::exp").in(parameters[0]).out(labelled("exp " + std::to_string(step)));
          std::vector<Tensor> gradients;
          for (const std::size_t k : straight)
            gradients.push_back(
                run.op("aten::neg")
                    .in(parameters[k])
                    .out(labelled("gradient " + std::to_string(10 * step) + std::to_string(k))));
          for (const std::size_t k : changed ? order : straight) {
            const std::string at = std::to_string(10 * step) + std::to_string(k);
            const Tensor& momentum = momenta[k];
            run.op("aten::mul_")
                .in(momentum)
                .writes(momentum, labelled(step == 0 ? "0" : "decayed " + at));
            run.op("aten::add_")
                .in(momentum)
                .in(gradients[k])
                .writes(momentum, labelled("momentum " + at));
            run.op("aten::sub_")
                .in(parameters[k])
                .in(momentum)
                .writes(parameters[k], labelled("parameter " + at));
          }
        }
        std::vector<Tensor> left = parameters;
        left.insert(left.end(), momenta.begin(), momenta.end());
        run.leaves(left);
      });
      CAPTURE(report.summary);
      CHECK(report.verdict == Verdict::identical);
      CHECK(report.coverage.only_reference == 0);
      CHECK(report.coverage.only_candidate == 0);
    }
  }

  TEST_CASE("memory that a loop in another order makes is known in later steps") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      std::vector<std::size_t> order{0, 1, 2};
      std::vector<Tensor> momenta(order.size());
      std::vector<Tensor> parameters;
      for (const std::size_t k : order)
        parameters.push_back(run.data(labelled("parameter " + std::to_string(k))));
      if (changed) std::ranges::reverse(order);
      for (int step = 0; step < 3; ++step) {
        run.step(step).phase(Phase::forward);
        for (const std::size_t k : order) {
          const std::string at = std::to_string(step) + " of " + std::to_string(k);
          const Tensor& parameter = parameters[k];
          if (step == 0) {
            momenta[k] = run.op("aten::clone").in(parameter).out(labelled("first " + at));
          } else {
            run.op("aten::mul_").in(momenta[k]).writes(momenta[k], labelled("decayed " + at));
          }
          run.op("aten::sub_").in(parameter).in(momenta[k]).writes(parameter, labelled(at));
        }
      }
      std::vector<Tensor> left = parameters;
      left.insert(left.end(), momenta.begin(), momenta.end());
      run.leaves(left);
    });
    CAPTURE(report.summary);
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.only_reference == 0);
  }

  /// Updates in steps of an optimizer that counts them for each of two parameters, by a tensor
  /// whose number it reads, and that first fills its states: the candidate goes through them the
  /// other way. `reads` is what is read of the count of a parameter.
  Report counted_updates(const std::function<double(std::size_t parameter, int step)>& reads) {
    return report_of([&](RunBuilder& run, bool changed) {
      std::vector<std::size_t> order{0, 1};
      std::vector<Tensor> parameters;
      for (const std::size_t k : order)
        parameters.push_back(
            run.parameter("weight" + std::to_string(k), labelled(std::to_string(k))));
      std::vector<Tensor> counts;
      for (std::size_t k = 0; k < order.size(); ++k)
        counts.push_back(run.op("aten::zeros").flag(event_flag::factory).out(labelled("0")));
      if (changed) std::ranges::reverse(order);
      std::vector<Tensor> sums(order.size());
      for (int step = 0; step < 2; ++step) {
        run.step(step).phase(Phase::optimizer);
        if (step == 0)
          for (const std::size_t k : order)
            sums[k] = run.op("aten::zeros_like")
                          .given(parameters[k], slot_flag::metadata_only)
                          .out(labelled("sum 0"));
        for (const std::size_t k : order) {
          const std::string at = std::to_string(step) + " of " + std::to_string(k);
          run.op("aten::add_").in(counts[k]).writes(counts[k], labelled(std::to_string(step + 1)));
          run.op("aten::addcmul_")
              .in(sums[k])
              .in(parameters[k])
              .writes(sums[k], labelled("s" + at));
          run.op("aten::item").in(counts[k]).result(reads(k, step));
          run.op("aten::addcdiv_")
              .in(parameters[k])
              .in(sums[k])
              .writes(parameters[k], labelled("p" + at));
        }
      }
      std::vector<Tensor> left = parameters;
      left.insert(left.end(), sums.begin(), sums.end());
      run.leaves(left);
    });
  }

  TEST_CASE("an optimizer that counts its updates may go through its parameters in any order") {
    const Report report = counted_updates([](std::size_t, int step) { return step + 1.0; });
    CAPTURE(report.summary);
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.only_reference == 0);
    CHECK(report.coverage.moved > 0);
  }

  TEST_CASE("numbers that the program reads in another order are another outcome") {
    const Report report =
        counted_updates([](std::size_t parameter, int step) { return step + 1.0 + parameter; });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("a tensor that is overwritten twice holds what was written last") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      const Tensor kept = run.op("aten::zeros").flag(event_flag::factory).out(labelled("0"));
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      const std::vector<Tensor> made{run.op("aten::exp").in(x).out(labelled("first")),
                                     run.op("aten::tanh").in(x).out(labelled("second"))};
      for (const std::size_t k : {0U, 1U}) {
        const std::size_t which = changed ? 1 - k : k;
        run.op("aten::copy_")
            .given(kept, slot_flag::overwritten)
            .in(made[which], "src")
            .writes(kept, labelled(which == 0 ? "first" : "second"));
      }
      run.leaves({kept, made[0], made[1]});
    });
    CHECK(report.verdict == Verdict::diverged);
    CHECK(report.findings.size() == 1);
  }

  TEST_CASE("which of two equal tensors of an earlier step is written how has not moved") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      std::vector<Tensor> means;
      for (int k = 0; k < 2; ++k)
        means.push_back(run.op("aten::zeros").flag(event_flag::factory).out(labelled("0")));
      run.step(0).phase(Phase::forward);
      for (int k = 0; k < 2; ++k) {
        const int decay = changed ? 2 - k : k + 1;
        const Tensor& mean = means[static_cast<std::size_t>(k)];
        run.op("aten::mul_")
            .in(mean)
            .arg("other", decay)
            .writes(mean, labelled("by " + std::to_string(decay)));
      }
    });
    CHECK(report.verdict != Verdict::identical);
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings[0].kind == FindingKind::arguments);
  }

  TEST_CASE("numbers and memory that a program gets in another order are another outcome") {
    for (const bool number : {false, true}) {
      const Report report = report_of([&](RunBuilder& run, bool changed) {
        run.step(0).phase(Phase::forward);
        std::vector<Tensor> sums;
        for (const std::string of : {"x", "y"})
          sums.push_back(run.op("aten::sum").in(run.data(labelled(of))).out(labelled("sum " + of)));
        for (const std::size_t k : {0U, 1U}) {
          const std::size_t which = changed ? 1 - k : k;
          if (number)
            run.op("aten::item").in(sums[which]).result(static_cast<double>(which));
          else
            run.op("aten::to").in(sums[which]).returns(sums[which]);
        }
      });
      CHECK(report.verdict == Verdict::diverged);
    }
  }

  TEST_CASE("models whose parameters are looked at in another order are the same ones") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      std::map<std::string, Tensor> weights;
      for (const std::string model : {"Net", "Net#2", "Net#3", "Net#4"}) {
        weights[model] = run.root(model).parameter("w", labelled("w of " + model));
        run.op("aten::exp").in(weights[model]).out(labelled("y of " + model));
      }
      for (const std::string model :
           {changed ? "Net#4" : "Net", "Net#2", "Net#3", changed ? "Net" : "Net#4"})
        run.root(model).parameters({weights[model]});
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("an op that is given what others of its kind have made in another order is found") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const auto exp = [&](const std::string& of) {
        return run.op("aten::exp").in(run.data(labelled(of))).out(labelled("exp " + of));
      };
      const Tensor first = exp(changed ? "g" : "h");
      const Tensor second = exp(changed ? "h" : "g");
      run.op("aten::sub").in(first).in(second).out(labelled(changed ? "g - h" : "h - g"));
    });
    CHECK(report.verdict == Verdict::diverged);
  }

  TEST_CASE("ops in another order may have their gradients added up in another order") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      std::map<std::string, Tensor> weights;
      for (const std::string part : {"a", "b", "c"})
        weights[part] = run.data(labelled("weight of " + part));
      std::map<std::string, Tensor> parts;
      const std::vector<std::string> order = changed ? std::vector<std::string>{"c", "b", "a"}
                                                     : std::vector<std::string>{"a", "b", "c"};
      for (const std::string& part : order)
        parts[part] = run.op("aten::mul").in(x).in(weights[part]).out(labelled("x by " + part));
      run.op("aten::stack").in(parts["a"]).in(parts["b"]).in(parts["c"]).out(labelled("all"));
      run.backward(true);
      Tensor sum = run.data(labelled("gradient of " + order[2]));
      for (const std::size_t next : {1U, 0U})
        sum = run.op("aten::add")
                  .in(sum)
                  .in(run.data(labelled("gradient of " + order[next])))
                  .out(labelled(next == 0 ? "sum of all" : "sum without " + order[0]));
    });
    CHECK(std::none_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
      return finding.diverges && finding.phase == Phase::forward;
    }));
  }

  TEST_CASE(
      "what a call of both runs does in another one's place keeps its partners among more ops") {
    const auto call = [](RunBuilder& run, std::string_view op, int line) {
      const std::string text = line == 3 ? "scripted(x)" : "x.sin()";
      run.op(op)
          .in(run.data(labelled("x")))
          .stack("net.py:" + std::to_string(line) + " f\t" + text + "\t.")
          .out(labelled(op));
    };
    const Report report = report_of([&](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      call(run, "aten::exp", 3);
      call(run, "aten::sin", changed ? 3 : 4);
      if (changed)
        for (const std::string_view op : {"aten::cos", "aten::tan", "aten::abs"}) call(run, op, 3);
    });
    CHECK(report.coverage.only_reference == 0);
    CHECK(report.coverage.only_candidate == 3);
  }

  TEST_CASE("a call whose line has another number is the same one") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::data);
      run.op("aten::exp")
          .in(run.data(labelled("x")))
          .stack(changed ? "net.py:12 f\texp(x)\t." : "net.py:10 f\texp(x)\t.")
          .out(labelled("y"));
      run.op("aten::exp")
          .in(run.data(labelled("z")))
          .stack(changed ? "net.py:13 f\texp(z)\t." : "net.py:12 f\texp(z)\t.")
          .out(labelled("y"));
    });
    CHECK(report.verdict == Verdict::identical);
  }

  TEST_CASE("another dtype is told as metadata") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Values values = labelled("x");
      const Tensor x = run.data(changed ? values.as(Dtype::float64) : values);
      run.op("aten::exp").in(x, "self").out(labelled("y"));
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::metadata);
    CHECK(has(notes_of(report.findings[0]), "float32 in the reference and float64"));
    CHECK(cause_ids(report) == "dtype");
  }

  TEST_CASE("ops in other modules are partners when their names agree") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      Tensor x = run.data(labelled("x"));
      for (int k = 0; k < 3; ++k)
        run.module((changed ? "net.layer" : "layer") + std::to_string(k),
                   [&] { x = run.op("aten::addmm").in(x).out(labelled("y" + std::to_string(k))); });
    });
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.findings.empty());
  }
}

TEST_SUITE("window") {
  TEST_CASE("ops directly inside scopes are items, and each scope ends after them") {
    RunBuilder run;
    run.step(0).without_outcomes();
    run.module("a", [&] {
      run.op("aten::one").out(labelled("1"));
      run.composite("aten::two",
                    [&](EventBuilder&) { return run.op("aten::inner").out(labelled("2")); });
    });
    run.op("aten::three").out(labelled("3"));
    const auto built = run.build();
    const auto block = std::make_shared<const Block>(built->block(0, 0, 0));
    std::vector<HeldEvent> events;
    for (const Event& event : block->events) events.push_back({&event, block});

    const Window window(events, true);
    REQUIRE(window.items().size() == 4);
    CHECK(window.event(window.items()[0].event).op == "aten::one");
    CHECK(window.event(window.items()[1].event).op == "aten::two");
    CHECK_FALSE(window.items()[2].op);
    CHECK(window.event(window.items()[3].event).op == "aten::three");
    CHECK(window.end(2) == 4);
    CHECK(window.item_of(3) == 1);
    CHECK(window.parent(3) == 2);
    CHECK(window.from_item(3).size() == 1);

    // Split after "inner": neither the module nor the op around it has ended.
    const Window cut({events.begin(), events.begin() + 4}, false);
    REQUIRE(cut.items().size() == 1);
    CHECK(cut.from_item(1).size() == 3);
  }

  TEST_CASE("parents that do not exist make roots") {
    RunBuilder run;
    run.step(0);
    run.op("aten::one").out(labelled("1"));
    run.op("aten::two").out(labelled("2"));
    const auto built = run.build();
    Block block = built->block(0, 0, 0);
    block.events[1].parent = 77;
    const auto held = std::make_shared<const Block>(std::move(block));
    const Window window({{&held->events[0], held}, {&held->events[1], held}}, true);
    CHECK(window.items().size() == 2);
    CHECK(window.parent(1) == kNoIndex);
  }
}
