#include <algorithm>
#include <iterator>
#include <utility>

#include "plan.hpp"

namespace judge {
namespace {

/// An act and how often it is chosen.
struct Choice {
  Act act;
  int weight;
};

template <std::size_t N>
Act choose(Random& random, const Choice (&choices)[N]) {
  int sum = 0;
  for (const Choice& choice : choices) sum += choice.weight;
  int drawn = random.below(sum);
  for (const Choice& choice : choices) {
    drawn -= choice.weight;
    if (drawn < 0) return choice.act;
  }
  return choices[0].act;
}

constexpr Choice kPlain[] = {
    {Act::unary, 10},        {Act::unary_in, 6},    {Act::scale, 6},      {Act::scale_in, 5},
    {Act::shift, 4},         {Act::shift_in, 4},    {Act::binary, 10},    {Act::binary_in, 7},
    {Act::product, 6},       {Act::addmm, 3},       {Act::concat, 3},     {Act::sum_of, 4},
    {Act::foreach_scale, 2}, {Act::cast, 2},        {Act::gather, 4},     {Act::draw, 6},
    {Act::clone, 3},         {Act::detach, 3},      {Act::alias, 2},      {Act::set_data, 2},
    {Act::empty_copy, 2},    {Act::from_memory, 2}, {Act::view, 6},       {Act::view_in, 6},
    {Act::view_copy, 3},     {Act::read_view, 4},   {Act::gradient, 3},   {Act::through_file, 1},
    {Act::item, 5},          {Act::if_item, 3},     {Act::raw_set, 5},    {Act::raw_fill, 2},
    {Act::raw_copy, 2},      {Act::raw_read, 2},    {Act::raw_memory, 2},
};

constexpr Choice kModelChanges[] = {
    {Act::clamp_all, 4},  {Act::scale_all, 4},       {Act::scale_weight, 4},
    {Act::weight_raw, 5}, {Act::weight_set_data, 2}, {Act::buffer_shift, 3},
    {Act::buffer_raw, 3}, {Act::gradient_scale, 3},  {Act::gradient_raw, 3},
    {Act::state_raw, 3},  {Act::ema_into_model, 3},  {Act::ema_raw, 2},
    {Act::schedule, 1},   {Act::hold_parameter, 1},  {Act::hold_output, 1},
    {Act::evaluate, 3},   {Act::reload, 1},          {Act::zero_grad, 2},
    {Act::mode, 1},       {Act::freeze, 1},          {Act::ema, 2},
};

int square(Random& random, const Worker& worker) { return random.below(worker.squares); }

/// Between a thousandth and a half away from 1.
double factor(Random& random) {
  return random.chance(0.2) ? 1 + 1.0 / 1024 : random.real(0.5, 1.5) + 1.0 / 128;
}

std::vector<int> several(Random& random, const Worker& worker) {
  std::vector<int> list;
  const int count = random.between(2, std::min(4, worker.squares));
  while (static_cast<int>(list.size()) < count) {
    const int one = square(random, worker);
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
  return list;
}

ModelPlan random_model(Random& random, const Worker& worker, bool trains) {
  ModelPlan model;
  model.seed = random.next() % 1000;
  model.seeds_itself = worker.concurrent;
  model.style = random.one_of<Style>({Style::sequential, Style::sequential, Style::module,
                                      Style::module, Style::pair, Style::tensors});
  model.inputs = random.between(2, 6);
  model.outputs = random.between(2, 4);
  model.batch = random.between(2, 5);
  model.loss = static_cast<Loss>(random.below(4));
  model.source = random.one_of<Source>({Source::own_generator, Source::own_generator,
                                        Source::formula, Source::memory, Source::data_set});
  if (!worker.concurrent && random.chance(0.3)) model.source = Source::default_generator;
  const int depth = random.between(0, 2);
  for (int i = 0; i < depth; ++i) {
    model.layers.push_back({LayerKind::linear, random.between(2, 7), 0});
    if (random.chance(0.3))
      model.layers.push_back(
          {random.chance(0.6) ? LayerKind::batch_norm : LayerKind::layer_norm, 0, 1e-5});
    model.layers.push_back(
        {random.one_of<LayerKind>({LayerKind::relu, LayerKind::tanh, LayerKind::gelu}), 0, 0});
    if (!worker.concurrent && random.chance(0.25))
      model.layers.push_back({LayerKind::dropout, 0, random.real(0.1, 0.5)});
  }
  model.scale_parameter = random.chance(0.3);
  model.counter_buffer = random.chance(0.3);
  model.update = static_cast<Update>(random.below(8));
  model.lr = random.real(0.03, 0.25) + 1.0 / 64;
  model.momentum = random.chance(0.4) ? 0.75 : 0;
  model.weight_decay = random.chance(0.3) ? 0.0625 : 0;
  model.two_groups = random.chance(0.2);
  model.has_ema = trains && random.chance(0.35);
  model.parts = trains && random.chance(0.2) ? random.between(2, 3) : 1;
  if (model.parts > 1) model.batch = std::max(model.batch, 2 * model.parts);
  return model;
}

/// Appends instructions to a worker, some of them between others.
class Writer {
 public:
  Writer(Random& random, Worker& worker) : random_(random), worker_(worker) {}

  Instruction& add(Instruction instruction) {
    instruction.step = step;
    instruction.section = section;
    worker_.work.push_back(std::move(instruction));
    return worker_.work.back();
  }

  Instruction& add(Act act, int to = 0) {
    Instruction instruction;
    instruction.act = act;
    instruction.to = to;
    return add(std::move(instruction));
  }

  void initial() {
    for (int i = 0; i < worker_.squares; ++i) {
      Instruction& init = add(Act::init, i);
      init.i = random_.below(6);
      init.fixed = true;
    }
    for (int i = 0; i < worker_.views; ++i) {
      Instruction& view = add(Act::view, i);
      view.a = square(random_, worker_);
      view.i = random_.below(1000);
      view.j = random_.below(1000);
      view.fixed = true;
    }
  }

  void plain(int count) {
    for (int i = 0; i < count; ++i) {
      add(plain_instruction(random_, worker_));
      if (worker_.in_group && random_.chance(0.25)) collective();
    }
  }

  void collective() {
    Instruction& one = add(random_.one_of<Act>({Act::all_reduce, Act::all_reduce, Act::broadcast,
                                                Act::all_gather, Act::barrier}),
                           square(random_, worker_));
    one.i = random_.below(1000);
    one.fixed = true;
  }

  int make_model(bool trains) {
    worker_.models.push_back(random_model(random_, worker_, trains));
    const int model = static_cast<int>(worker_.models.size()) - 1;
    add(Act::make_model, model).fixed = true;
    return model;
  }

  void train_step(int model, int number) {
    const ModelPlan& plan = worker_.models[static_cast<std::size_t>(model)];
    const double extras = 0.12;
    add(Act::batch, model).i = number;
    if (random_.chance(0.9)) add(Act::zero_grad, model).i = random_.below(5);
    for (int part = 0; part < plan.parts; ++part) {
      add(Act::forward, model).i = part;
      if (random_.chance(extras)) plain(1);
      add(Act::backward, model);
    }
    if (random_.chance(0.2)) {
      Instruction& clip = add(Act::clip, model);
      clip.i = random_.below(2);
      clip.x = random_.real(0.1, 1);
    }
    if (random_.chance(extras)) add(model_change(random_, worker_));
    if (worker_.in_group && random_.chance(0.9)) add(Act::reduce_gradients, model).fixed = true;
    add(Act::step, model);
    if (random_.chance(0.8)) add(Act::read_loss, model);
    if (plan.has_ema) add(Act::ema, model).x = 0.75;
    if (random_.chance(extras)) add(model_change(random_, worker_));
    if (random_.chance(0.2)) plain(random_.between(1, 3));
  }

  /// `count` steps of models that take turns.
  void train(const std::vector<int>& models, int count) {
    for (int number = 0; number < count; ++number) {
      step = number;
      for (const int model : models) train_step(model, number);
      if (random_.chance(0.15)) {
        Instruction& evaluate = add(Act::evaluate, random_.one_of(models));
        evaluate.a = square(random_, worker_);
        evaluate.i = random_.below(3);
      }
    }
    step = -1;
  }

  /// Each step, or each few instructions, in a thread that is joined.
  void into_sections(std::size_t first, bool by_step) {
    auto& work = worker_.work;
    worker_.sections = random_.one_of<Way>({Way::threads, Way::threads, Way::launch, Way::queue});
    int number = 1;
    std::size_t left = 0;
    for (std::size_t i = first; i < work.size(); ++i) {
      if (by_step) {
        work[i].section = work[i].step < 0 ? 0 : work[i].step + 1;
        continue;
      }
      if (left-- == 0) {
        left = static_cast<std::size_t>(random_.between(2, 9));
        number += 1;
        inside_ = random_.chance(0.6);
      }
      work[i].section = inside_ ? number : 0;
    }
  }

  /// What often comes after the last step.
  void finish() {
    while (!worker_.models.empty() && random_.chance(0.35)) add(model_change(random_, worker_));
    while (random_.chance(0.25)) plain(1);
  }

  int step = -1, section = 0;

 private:
  Random& random_;
  Worker& worker_;
  bool inside_ = false;
};

Worker random_worker(Random& random, std::string name, bool concurrent) {
  Worker worker;
  worker.name = std::move(name);
  worker.seed = random.next() % 1000;
  worker.n = random.chance(0.1) ? 40 : random.between(2, 6);
  worker.squares = random.between(3, 6);
  worker.views = 3;
  worker.concurrent = concurrent;
  worker.keeps = random.chance(0.6);
  return worker;
}

/// Trains, or computes with plain tensors alone.
void fill_worker(Random& random, Worker& worker, bool trains) {
  Writer writer(random, worker);
  writer.initial();
  if (worker.prepared && random.chance(0.6)) {
    Instruction& take = writer.add(Act::take_square, square(random, worker));
    take.a = random.below(3);
    take.fixed = true;
  }
  if (!trains) return writer.plain(random.between(6, 25));
  std::vector<int> models{writer.make_model(true)};
  if (random.chance(0.2)) models.push_back(writer.make_model(true));
  if (worker.prepared)
    for (ModelPlan& model : worker.models) model.seeds_itself = false;
  if (worker.in_group && random.chance(0.5))
    writer.add(Act::broadcast_model, models[0]).fixed = true;
  if (random.chance(0.3)) writer.plain(random.between(1, 5));
  writer.train(models, random.between(1, 4));
  writer.finish();
  if (worker.in_group) writer.collective();
}

/// Processes that exchange tensors: all of them do the same, with data of their own.
std::vector<Worker> group(Random& random) {
  std::vector<Worker> workers;
  const int count = random.between(2, 3);
  const bool same_models = random.chance(0.6), same_data = random.chance(0.2);
  Worker first = random_worker(random, "", false);
  first.in_group = true;
  fill_worker(random, first, random.chance(0.7));
  for (int i = 0; i < count; ++i) {
    Worker copy = first;
    copy.name = "rank " + std::to_string(i);
    if (!same_data) copy.seed += static_cast<std::uint64_t>(i);
    for (ModelPlan& model : copy.models)
      if (!same_models) model.seed += static_cast<std::uint64_t>(i);
    workers.push_back(std::move(copy));
  }
  return workers;
}

/// Two to four workers that run at once. Some do the same with another seed, some the very same.
std::vector<Worker> team(Random& random, const Worker& parent, const std::string& name,
                         bool concurrent, double trains) {
  std::vector<Worker> workers;
  const int count = random.between(2, 4);
  const bool prepared = concurrent && random.chance(0.35);
  const bool alike = random.chance(0.5), same_seeds = random.chance(0.5);
  for (int i = 0; i < count; ++i) {
    if (alike && i > 0) {
      Worker copy = workers.front();
      if (!same_seeds) {
        copy.seed = random.next() % 1000;
        for (ModelPlan& model : copy.models) model.seed = random.next() % 1000;
      }
      workers.push_back(std::move(copy));
    } else {
      workers.push_back(random_worker(random, "", concurrent));
      workers.back().prepared = prepared;
      if (prepared) workers.back().n = parent.n;
      fill_worker(random, workers.back(), random.chance(trains));
    }
    workers.back().name = name + " " + std::to_string(i + 1);
  }
  return workers;
}

/// Has a worker start others and wait for them. Returns their numbers.
std::vector<int> spawn(Random& random, Program& program, std::size_t parent, Writer& writer,
                       std::vector<Worker> workers, Way way) {
  Instruction spawn;
  spawn.act = Act::spawn;
  spawn.i = static_cast<int>(way);
  spawn.j = random.below(2);
  spawn.fixed = true;
  const bool leaves_process = way == Way::forks || way == Way::processes;
  for (Worker& worker : workers) {
    spawn.list.push_back(static_cast<int>(program.workers.size()));
    worker.parent = static_cast<int>(parent);
    worker.forked = leaves_process;
    program.workers.push_back(std::move(worker));
  }
  writer.add(spawn);
  Worker& starter = program.workers[parent];
  if (way == Way::threads && random.chance(0.4)) {
    starter.concurrent = true;
    writer.plain(random.between(1, 8));
    starter.concurrent = false;
  }
  writer.add(Act::join).fixed = true;
  if (!leaves_process) {
    // Threads that construct models leave the default generator as the last of them has left it.
    Instruction& seed = writer.add(Act::manual_seed);
    seed.i = random.below(1000);
    seed.fixed = true;
  }
  return spawn.list;
}

/// Has main go on with what threads have made.
void use_results(Random& random, Program& program, Writer& writer,
                 const std::vector<int>& workers) {
  Worker& main = program.workers.front();
  std::vector<int> kept, trainers;
  for (const int number : workers) {
    const Worker& worker = program.workers[static_cast<std::size_t>(number)];
    if (!worker.keeps) continue;
    kept.push_back(number);
    if (!worker.models.empty()) trainers.push_back(number);
  }
  while (!kept.empty() && random.chance(0.4)) {
    Instruction& add = writer.add(Act::add_result, square(random, main));
    add.i = random.one_of(kept);
    add.a = random.below(3);
  }
  if (trainers.empty() || !random.chance(0.5)) return;
  const int adopted = random.one_of(trainers), model = static_cast<int>(main.models.size());
  main.models.push_back(program.workers[static_cast<std::size_t>(adopted)].models.front());
  Instruction& adopt = writer.add(Act::adopt_model, model);
  adopt.i = adopted;
  adopt.fixed = true;
  if (trainers.size() > 1 && random.chance(0.5)) {
    Instruction& average = writer.add(Act::average, model);
    for (const int trainer : trainers)
      if (trainer != adopted) average.list.push_back(trainer);
  }
  if (random.chance(0.5)) writer.train({model}, random.between(1, 2));
}

}  // namespace

Instruction plain_instruction(Random& random, const Worker& worker) {
  Instruction made;
  made.act = choose(random, kPlain);
  made.to = square(random, worker);
  made.a = square(random, worker);
  made.b = square(random, worker);
  made.i = random.below(1000);
  made.j = random.below(1000);
  made.x = factor(random);
  switch (made.act) {
    case Act::view:
    case Act::view_in:
    case Act::view_copy:
      made.to = random.below(worker.views);
      break;
    case Act::read_view:
      made.b = random.below(worker.views);
      break;
    case Act::sum_of:
    case Act::foreach_scale:
      made.list = several(random, worker);
      break;
    case Act::draw:
      made.j = worker.concurrent || random.chance(0.4) ? 1 : 0;
      break;
    case Act::raw_set:
      made.j = random.chance(0.6) ? random.one_of<int>({-1, 1, 2}) : 0;
      break;
    case Act::from_memory:
    case Act::raw_memory:
      made.i = random.below(2);
      break;
    default:
      break;
  }
  return made;
}

Instruction model_change(Random& random, const Worker& worker) {
  Instruction made;
  made.act = choose(random, kModelChanges);
  made.to = random.below(static_cast<int>(worker.models.size()));
  made.a = square(random, worker);
  made.i = random.below(1000);
  made.j = random.below(1000);
  made.x = factor(random);
  if (made.act == Act::clamp_all) made.x = random.real(0.05, 0.5);
  if (made.act == Act::ema) made.x = 0.75;
  return made;
}

bool dies(const Program& program, std::size_t worker) {
  const Worker& asked = program.workers[worker];
  if (worker == 0) return program.ending == Ending::returns;
  if (!asked.keeps) return true;
  return !asked.forked && dies(program, static_cast<std::size_t>(asked.parent));
}

std::pair<int, int> rank_and_size(const Program& program, std::size_t worker) {
  const auto parent = static_cast<std::size_t>(program.workers[worker].parent);
  for (const Instruction& one : program.workers[parent].work) {
    if (one.act != Act::spawn) continue;
    const auto found = std::find(one.list.begin(), one.list.end(), static_cast<int>(worker));
    if (found != one.list.end())
      return {static_cast<int>(found - one.list.begin()), static_cast<int>(one.list.size())};
  }
  return {0, 1};
}

std::size_t prepared_instructions(const Worker& worker) {
  if (!worker.prepared) return 0;
  std::size_t count = 0;
  for (std::size_t place = 0; place < worker.work.size(); ++place) {
    const Instruction& one = worker.work[place];
    if (one.act == Act::init || one.act == Act::make_model || one.act == Act::take_square ||
        (one.act == Act::view && one.fixed))
      count = place + 1;
  }
  return count;
}

Program make_program(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15 + 1);
  Program program;
  program.seed = random.next() % 1000;
  program.ending =
      random.one_of<Ending>({Ending::returns, Ending::returns, Ending::returns, Ending::exits,
                             Ending::exits, Ending::leaks, Ending::statics, Ending::at_once});
  program.workers.reserve(32);
  program.workers.push_back(random_worker(random, "main", false));
  Worker& main = program.workers.front();
  main.keeps = true;
  Writer writer(random, main);
  writer.initial();
  const int drawn = random.below(100);
  if (drawn < 6) {
    program.kind = "collectives";
    if (random.chance(0.3)) writer.plain(random.between(1, 4));
    spawn(random, program, 0, writer, group(random),
          random.chance(0.5) ? Way::processes : Way::forks);
    if (random.chance(0.3)) writer.plain(random.between(1, 4));
  } else if (drawn < 16) {
    program.kind = "plain";
    writer.plain(random.between(8, 45));
  } else if (drawn < 38) {
    program.kind = "train";
    std::vector<int> models{writer.make_model(true)};
    if (random.chance(0.25)) models.push_back(writer.make_model(true));
    if (random.chance(0.4)) writer.plain(random.between(1, 6));
    writer.train(models, random.between(1, 4));
    writer.finish();
  } else if (drawn < 44) {
    program.kind = "inference";
    const int model = writer.make_model(false);
    const int count = random.between(1, 4);
    for (int i = 0; i < count; ++i) {
      writer.add(Act::batch, model).i = i;
      Instruction& evaluate = writer.add(Act::evaluate, model);
      evaluate.a = square(random, main);
      evaluate.i = random.below(3);
      if (random.chance(0.3)) writer.plain(random.between(1, 3));
    }
    writer.finish();
  } else if (drawn < 52) {
    program.kind = "thread per step";
    const int model = writer.make_model(true);
    const std::size_t first = main.work.size();
    writer.train({model}, random.between(2, 4));
    writer.into_sections(first, true);
    writer.finish();
  } else if (drawn < 59) {
    program.kind = "thread, then main";
    const bool trains = random.chance(0.7);
    const std::size_t first = main.work.size();
    if (trains) {
      writer.train({writer.make_model(true)}, random.between(2, 4));
      writer.finish();
    } else {
      writer.plain(random.between(10, 30));
    }
    writer.into_sections(first, false);
  } else {
    const bool forks = drawn >= 74 && drawn < 86;
    const bool processes = forks && random.chance(0.25);
    const bool pool = drawn >= 86 && drawn < 95;
    const bool mixed = drawn >= 95;
    program.kind = processes ? "processes"
                   : forks   ? "forks"
                   : pool    ? "pool"
                   : mixed   ? "threads and forks"
                             : "threads";
    if (random.chance(0.5)) writer.plain(random.between(1, 5));
    int model = -1;
    if (random.chance(0.3)) {
      model = writer.make_model(true);
      writer.train({model}, random.between(1, 2));
    }
    if (forks || mixed) {
      spawn(random, program, 0, writer, team(random, main, "child", false, 0.7),
            processes ? Way::processes : Way::forks);
      // A child that has threads of its own.
      if (mixed) {
        Worker& child = program.workers[1];
        Writer inner(random, child);
        spawn(random, program, 1, inner, team(random, child, child.name + " thread", true, 0.7),
              Way::threads);
      }
    }
    if (mixed) writer.plain(random.between(1, 4));
    if (!forks) {
      const Way way =
          pool ? random.one_of<Way>({Way::launch, Way::parallel_for, Way::queue}) : Way::threads;
      const int teams = !pool && random.chance(0.25) ? 2 : 1;
      for (int number = 0; number < teams; ++number) {
        const std::string name = pool ? "task" : number == 0 ? "thread" : "later thread";
        const auto started = spawn(random, program, 0, writer,
                                   team(random, main, name, true, pool ? 0.4 : 0.8), way);
        use_results(random, program, writer, started);
      }
    }
    if (model >= 0 && random.chance(0.5)) writer.train({model}, 1);
    if (random.chance(0.5)) writer.plain(random.between(1, 6));
    writer.finish();
  }
  for (std::size_t number = 0; number < program.workers.size(); ++number) {
    // Plain tensors that die are left only if ops read them.
    if (!dies(program, number) || !random.chance(0.5)) continue;
    Writer last(random, program.workers[number]);
    for (int i = 0; i < program.workers[number].squares; ++i) last.add(Act::item).a = i;
  }
  return program;
}

}  // namespace judge
