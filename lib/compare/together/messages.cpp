#include "compare/together/messages.hpp"

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <new>
#include <sstream>

#include "compare/together/fields.hpp"

namespace ulpscope::comparison {

void Trouble::raise() const {
  if (memory) throw std::bad_alloc();
  throw Error(code, what, hint);
}

template <class Message>
std::string pack(const Message& message) {
  std::ostringstream out;
  cereal::BinaryOutputArchive archive(out);
  archive(message);
  return std::move(out).str();
}

template <class Message>
Message unpack(const std::string& packed) {
  std::istringstream in(packed);
  cereal::BinaryInputArchive archive(in);
  Message message;
  archive(message);
  return message;
}

template std::string pack(const std::optional<Trouble>& message);
template std::optional<Trouble> unpack(const std::string& packed);
template std::string pack(const RanksMessage& message);
template RanksMessage unpack(const std::string& packed);
template std::string pack(const QuestionsMessage& message);
template QuestionsMessage unpack(const std::string& packed);
template std::string pack(const AnswersMessage& message);
template AnswersMessage unpack(const std::string& packed);

}  // namespace ulpscope::comparison
