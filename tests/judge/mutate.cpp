#include <algorithm>
#include <iterator>
#include <utility>

#include "plan.hpp"

namespace judge {
namespace {

bool reads_number(Act act) { return act == Act::item || act == Act::read_loss; }

bool is_raw(Act act) {
  switch (act) {
    case Act::raw_set:
    case Act::raw_fill:
    case Act::raw_copy:
    case Act::raw_memory:
    case Act::ema_raw:
    case Act::weight_raw:
    case Act::buffer_raw:
    case Act::gradient_raw:
    case Act::state_raw:
      return true;
    default:
      return false;
  }
}

/// Which numbers of an instruction mean something.
std::vector<double Instruction::*> numbers(Act act) {
  switch (act) {
    case Act::scale:
    case Act::scale_in:
    case Act::shift:
    case Act::shift_in:
    case Act::product:
    case Act::addmm:
    case Act::foreach_scale:
    case Act::if_item:
    case Act::raw_fill:
    case Act::raw_memory:
    case Act::view_in:
    case Act::clamp_all:
    case Act::scale_all:
    case Act::scale_weight:
    case Act::weight_set_data:
    case Act::buffer_shift:
    case Act::buffer_raw:
    case Act::gradient_scale:
    case Act::schedule:
    case Act::ema:
    case Act::clip:
      return {&Instruction::x};
    default:
      return {};
  }
}

std::vector<int Instruction::*> positions(Act act) {
  switch (act) {
    case Act::unary:
    case Act::unary_in:
    case Act::binary:
    case Act::binary_in:
    case Act::concat:
    case Act::cast:
    case Act::gather:
    case Act::draw:
    case Act::view_in:
    case Act::gradient:
    case Act::item:
    case Act::raw_set:
    case Act::raw_read:
    case Act::batch:
    case Act::clip:
    case Act::scale_weight:
      return {&Instruction::i};
    case Act::view:
    case Act::view_copy:
      return {&Instruction::i, &Instruction::j};
    case Act::raw_memory:
    case Act::weight_raw:
    case Act::gradient_raw:
      return {&Instruction::j};
    default:
      return {};
  }
}

class Mutator {
 public:
  Mutator(Program& program, std::uint64_t number)
      : program_(program), random_(program.seed * 7919 + number * 0x2545f4914f6cdd1d) {
    // Programs of equal seeds are equal, so the number alone need not tell mutations apart.
    for (const Worker& worker : program.workers) mix_ += worker.seed + worker.work.size();
    random_ = Random(random_.next() ^ mix_);
  }

  Mutation run() {
    struct Kind {
      const char* name;
      bool (Mutator::*apply)();
      int weight;
      bool harmless;
    };
    static constexpr Kind kKinds[] = {
        {"weight scaled", &Mutator::weight_scaled, 6, false},
        {"one ULP", &Mutator::one_ulp, 9, false},
        {"another seed", &Mutator::another_seed, 5, false},
        {"extra op", &Mutator::extra_op, 10, false},
        {"op left out", &Mutator::left_out, 8, false},
        {"ops swapped", &Mutator::swapped, 6, false},
        {"argument", &Mutator::argument, 8, false},
        {"model setting", &Mutator::model_setting, 5, false},
        {"extra draw", &Mutator::extra_draw, 4, false},
        {"order of sums", &Mutator::order_of_sums, 5, false},
        {"after the last op", &Mutator::after_last, 14, false},
        {"in a worker's last step", &Mutator::in_last_step, 10, false},
        {"steps", &Mutator::steps, 3, false},
        {"unused op", &Mutator::unused_op, 5, true},
        {"times one", &Mutator::times_one, 4, true},
        {"double transpose", &Mutator::double_transpose, 4, true},
        {"respelled", &Mutator::respelled, 7, true},
        {"sleep", &Mutator::sleep, 4, true},
        {"extra evaluation", &Mutator::extra_evaluation, 4, true},
        {"held longer", &Mutator::held_longer, 3, true},
        {"start order", &Mutator::start_order, 3, true},
    };
    int sum = 0;
    for (const Kind& kind : kKinds) sum += kind.weight;
    for (int attempt = 0; attempt < 1000; ++attempt) {
      int drawn = random_.below(sum);
      const Kind* chosen = kKinds;
      while (drawn >= chosen->weight) drawn -= (chosen++)->weight;
      choose_worker();
      if (!(this->*chosen->apply)()) continue;
      mutation_.kind = chosen->name;
      mutation_.harmless = chosen->harmless;
      mutation_.worker = worker_;
      return mutation_;
    }
    return mutation_;
  }

 private:
  using Place = std::size_t;

  Worker& worker() { return program_.workers[worker_]; }
  std::vector<Instruction>& work() { return worker().work; }

  void choose_worker() {
    worker_ = static_cast<std::size_t>(random_.below(static_cast<int>(program_.workers.size())));
  }

  /// The first place where something can stand: what a worker begins with comes before it.
  Place first_place() {
    Place place = 0;
    while (place < work().size() && (work()[place].act == Act::init ||
                                     (work()[place].act == Act::view && work()[place].fixed)))
      ++place;
    return place;
  }

  Place any_place() {
    const Place first = first_place();
    return first + static_cast<Place>(random_.below(static_cast<int>(work().size() - first) + 1));
  }

  Place place_of(Act act) {
    for (Place place = 0; place < work().size(); ++place)
      if (work()[place].act == act) return place;
    return work().size();
  }

  /// A place after all models have been made.
  Place place_with_models() {
    Place first = 0;
    for (Place place = 0; place < work().size(); ++place)
      if (work()[place].act == Act::make_model) first = place + 1;
    return first + static_cast<Place>(random_.below(static_cast<int>(work().size() - first) + 1));
  }

  /// The worker as those must see it who choose an instruction for `place`.
  Worker seen_from(Place place) {
    Worker copy = worker();
    for (Place before = 0; before < place; ++before) {
      if (work()[before].act == Act::spawn) copy.concurrent = true;
      if (work()[before].act == Act::join) copy.concurrent = worker().concurrent;
    }
    return copy;
  }

  void note(Place place, const std::string& what) {
    mutation_.place = worker().name + ", instruction " + std::to_string(place) + ": " + what;
  }

  void mark(Place place) { work()[place].mutated = true; }

  bool insert(Place place, Instruction instruction) {
    if (place > 0) {
      instruction.section = work()[place - 1].section;
      instruction.step = work()[place - 1].step;
    }
    work().insert(work().begin() + static_cast<std::ptrdiff_t>(place), std::move(instruction));
    mark(place);
    note(place, std::string("inserted ") + name_of(work()[place].act));
    return true;
  }

  Instruction made(Act act, int to) {
    Instruction instruction;
    instruction.act = act;
    instruction.to = to;
    instruction.i = random_.below(1000);
    instruction.j = random_.below(1000);
    return instruction;
  }

  int any_square() { return random_.below(worker().squares); }
  int any_model() { return random_.below(static_cast<int>(worker().models.size())); }

  bool weight_scaled() {
    if (worker().models.empty()) return false;
    Instruction scale = made(Act::scale_weight, any_model());
    scale.x = 1.0001;
    return insert(place_with_models(), scale);
  }

  bool one_ulp_at(Place place) {
    const bool models = place_of(Act::make_model) < place && !worker().models.empty();
    if (!models || random_.chance(0.3)) {
      Instruction raw = made(Act::raw_set, any_square());
      raw.j = random_.chance(0.5) ? 1 : -1;
      return insert(place, raw);
    }
    return insert(place, made(random_.one_of<Act>({Act::weight_raw, Act::weight_raw,
                                                   Act::gradient_raw, Act::state_raw}),
                              any_model()));
  }
  bool one_ulp() { return one_ulp_at(any_place()); }

  bool another_seed() {
    if (random_.chance(0.3)) {
      program_.seed += 1;
      mutation_.place = "the program's seed";
    } else if (!worker().models.empty() && random_.chance(0.5)) {
      ModelPlan& model = worker().models[static_cast<std::size_t>(any_model())];
      model.seed += 1;
      mutation_.place = worker().name + ": a model's seed";
    } else {
      worker().seed += 1;
      mutation_.place = worker().name + ": the worker's seed";
    }
    return true;
  }

  bool extra_at(Place place) {
    const bool models = place_of(Act::make_model) < place && !worker().models.empty();
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Instruction extra = models && random_.chance(0.5)
                                    ? model_change(random_, worker())
                                    : plain_instruction(random_, seen_from(place));
      if (!is_raw(extra.act) && !reads_number(extra.act) && extra.act != Act::from_memory)
        return insert(place, extra);
    }
    return false;
  }
  bool extra_op() { return extra_at(any_place()); }

  bool left_out_at(Place place) {
    if (place >= work().size() || work()[place].fixed || reads_number(work()[place].act))
      return false;
    note(place, std::string("left out ") + name_of(work()[place].act));
    work().erase(work().begin() + static_cast<std::ptrdiff_t>(place));
    return true;
  }
  bool left_out() { return left_out_at(any_place()); }

  bool swapped_at(Place place) {
    const Place other = place + static_cast<Place>(random_.between(1, 3));
    if (other >= work().size()) return false;
    for (Place between = place; between <= other; ++between)
      if (work()[between].fixed) return false;
    if (work()[place] == work()[other]) return false;
    std::swap(work()[place], work()[other]);
    std::swap(work()[place].section, work()[other].section);
    std::swap(work()[place].step, work()[other].step);
    mark(place);
    mark(other);
    note(place, std::string("swapped with ") + std::to_string(other) + ": " +
                    name_of(work()[other].act) + " and " + name_of(work()[place].act));
    return true;
  }
  bool swapped() { return swapped_at(any_place()); }

  bool argument_at(Place place) {
    if (place >= work().size() || work()[place].fixed) return false;
    Instruction& changed = work()[place];
    const auto reals = numbers(changed.act);
    const auto wholes = positions(changed.act);
    const auto count = static_cast<int>(reals.size() + wholes.size());
    if (count == 0) return false;
    const auto drawn = static_cast<std::size_t>(random_.below(count));
    if (drawn < reals.size())
      changed.*reals[drawn] *= random_.chance(0.5) ? 1.0001 : 0.75;
    else
      changed.*wholes[drawn - reals.size()] += 1;
    mark(place);
    note(place, std::string("an argument of ") + name_of(changed.act));
    return true;
  }
  bool argument() { return argument_at(any_place()); }

  bool model_setting() {
    if (worker().models.empty()) return false;
    ModelPlan& model = worker().models[static_cast<std::size_t>(any_model())];
    const int drawn = random_.below(7);
    const char* what = nullptr;
    if (drawn == 0) {
      model.lr *= 1.0001;
      what = "learning rate";
    } else if (drawn == 1) {
      model.momentum = model.momentum == 0 ? 0.5 : 0.8125;
      what = "momentum";
    } else if (drawn == 2) {
      model.weight_decay += 0.03125;
      what = "weight decay";
    } else if (drawn == 3) {
      model.eps *= 4;
      what = "eps of the optimizer";
    } else if (drawn == 4) {
      model.beta -= 0.0625;
      what = "beta";
    } else if (drawn == 5 && !model.layers.empty()) {
      Layer& layer = random_.chance(0.5) ? model.layers.back() : model.layers.front();
      if (layer.number == 0) return false;
      layer.number *= 2;
      what = "a layer's eps or probability";
    } else if (drawn == 6) {
      model.loss = static_cast<Loss>((static_cast<int>(model.loss) + 2) % 4);
      what = "loss";
    }
    if (!what) return false;
    mutation_.place = worker().name + ": " + what;
    return true;
  }

  bool extra_draw_at(Place place) {
    Instruction draw = made(Act::unused, any_square());
    draw.i = seen_from(place).concurrent || random_.chance(0.4) ? 101 : 100;
    return insert(place, draw);
  }
  bool extra_draw() { return extra_draw_at(any_place()); }

  bool order_of_sums() {
    std::vector<Place> places;
    for (Place place = 0; place < work().size(); ++place)
      if (work()[place].act == Act::sum_of) places.push_back(place);
    if (places.empty()) {
      // The parts of a batch in another order.
      std::vector<Place> forwards;
      for (Place place = 0; place < work().size(); ++place)
        if (work()[place].act == Act::forward &&
            worker().models[static_cast<std::size_t>(work()[place].to)].parts > 1)
          forwards.push_back(place);
      if (forwards.empty()) return false;
      const Place place = random_.one_of(forwards);
      for (const Place other : forwards) {
        if (work()[other].to != work()[place].to || work()[other].step != work()[place].step ||
            work()[other].i == work()[place].i)
          continue;
        std::swap(work()[place].i, work()[other].i);
        mark(place);
        mark(other);
        note(place, "the parts of a batch in another order");
        return true;
      }
      return false;
    }
    const Place place = random_.one_of(places);
    std::rotate(work()[place].list.begin(), work()[place].list.begin() + 1,
                work()[place].list.end());
    mark(place);
    note(place, "squares added in another order");
    return true;
  }

  bool change_at_end() {
    if (worker().models.empty() || random_.chance(0.3)) {
      const Instruction extra = plain_instruction(random_, worker());
      return insert(work().size(), extra);
    }
    return insert(work().size(), model_change(random_, worker()));
  }
  bool after_last() { return random_.chance(0.4) ? one_ulp_at(work().size()) : change_at_end(); }

  /// In the last step of a thread, task or child; of main where nobody else works.
  bool in_last_step() {
    if (program_.workers.size() > 1) {
      worker_ = 1 + static_cast<std::size_t>(
                        random_.below(static_cast<int>(program_.workers.size()) - 1));
    }
    int last = -1;
    for (const Instruction& instruction : work()) last = std::max(last, instruction.step);
    std::vector<Place> places;
    for (Place place = first_place(); place < work().size(); ++place)
      if (last < 0 ? place * 4 >= work().size() * 3 : work()[place].step == last)
        places.push_back(place);
    if (places.empty()) return false;
    const Place place = random_.one_of(places);
    switch (random_.below(6)) {
      case 0:
        return left_out_at(place);
      case 1:
        return argument_at(place);
      case 2:
        return extra_at(place + 1);
      case 3:
        return swapped_at(place);
      default:
        return one_ulp_at(place + 1);
    }
  }

  bool steps() {
    int last = -1;
    for (const Instruction& instruction : work()) last = std::max(last, instruction.step);
    if (last < 0) return false;
    const auto in_last = [last](const Instruction& instruction) {
      return instruction.step == last;
    };
    const auto first = std::find_if(work().begin(), work().end(), in_last);
    const auto end = std::find_if_not(first, work().end(), in_last);
    if (std::any_of(first, end, [](const Instruction& one) { return one.fixed; })) return false;
    if (random_.chance(0.5)) {
      work().erase(first, end);
      mutation_.place = worker().name + ": the last step left out";
    } else {
      std::vector<Instruction> again(first, end);
      for (Instruction& instruction : again) {
        instruction.mutated = true;
        instruction.step += 1;
      }
      work().insert(end, again.begin(), again.end());
      mutation_.place = worker().name + ": the last step twice";
    }
    return true;
  }

  bool unused_op() {
    Instruction unused = made(Act::unused, any_square());
    unused.i %= 100;
    return insert(any_place(), unused);
  }
  bool times_one() { return insert(any_place(), made(Act::times_one, any_square())); }
  bool double_transpose() { return insert(any_place(), made(Act::double_transpose, any_square())); }
  bool held_longer() { return insert(any_place(), made(Act::hold_longer, any_square())); }

  bool sleep() {
    Instruction sleep = made(Act::sleep, 0);
    sleep.i = random_.between(1, 8);
    return insert(any_place(), sleep);
  }

  bool respelled() {
    std::vector<Place> places;
    for (Place place = 0; place < work().size(); ++place) {
      switch (work()[place].act) {
        case Act::scale:
        case Act::shift:
        case Act::binary:
        case Act::binary_in:
        case Act::scale_in:
        case Act::product:
        case Act::clone:
        case Act::sum_of:
        case Act::unary:
        case Act::evaluate:
        case Act::ema:
          places.push_back(place);
          break;
        default:
          break;
      }
    }
    if (places.empty()) return false;
    const Place place = random_.one_of(places);
    work()[place].spelling = random_.between(1, 2);
    mark(place);
    note(place, std::string("respelled ") + name_of(work()[place].act));
    return true;
  }

  bool extra_evaluation() {
    if (worker().models.empty()) return false;
    const Place place = place_with_models();
    Instruction evaluate = made(Act::evaluate, any_model());
    evaluate.i = 3;
    return insert(place, evaluate);
  }

  bool start_order() {
    for (Place place = 0; place < work().size(); ++place) {
      Instruction& spawn = work()[place];
      if (spawn.act != Act::spawn || static_cast<Way>(spawn.i) == Way::forks) continue;
      std::rotate(spawn.list.begin(), spawn.list.begin() + 1, spawn.list.end());
      spawn.mutated = true;
      note(place, "workers started in another order");
      return true;
    }
    return false;
  }

  Program& program_;
  Random random_;
  std::uint64_t mix_ = 0;
  std::size_t worker_ = 0;
  Mutation mutation_;
};

}  // namespace

Mutation mutate(Program& program, std::uint64_t number) {
  if (number == 0) return {};
  return Mutator(program, number).run();
}

}  // namespace judge
