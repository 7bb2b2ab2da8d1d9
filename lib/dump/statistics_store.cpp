#include "dump/statistics_store.hpp"

#include "ring/message.hpp"

namespace ulpscope::dump {

bool StatisticsStore::take(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto message = reader.get<ring::StatisticsMessage>();
  if (!reader.ok()) return false;
  const ValueKey key{{message.digest[0], message.digest[1]}, static_cast<Dtype>(message.dtype)};
  const auto [item, added] = entries_.try_emplace(key);
  if (!added) return true;
  item->second.row = {key.digest,   message.min,       message.max,  message.mean,
                      message.l2,   message.elements,  message.nan,  message.inf,
                      message.zero, message.subnormal, message.dtype};
  order_.push_back(key);
  if (order_.size() > kMost) {
    entries_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

void StatisticsStore::require(const ValueKey& value, std::vector<StatisticsRow>& table) {
  const auto found = entries_.find(value);
  if (found == entries_.end() || found->second.in_segment) return;
  found->second.in_segment = true;
  table.push_back(found->second.row);
}

void StatisticsStore::begin_segment() {
  for (auto& [key, entry] : entries_) {
    entry.published = entry.published || entry.in_segment;
    entry.in_segment = false;
  }
}

std::vector<std::byte> StatisticsStore::unpublished() const {
  ByteWriter out;
  for (const ValueKey& key : order_) {
    const Entry& entry = entries_.at(key);
    if (entry.published || entry.in_segment) continue;
    const StatisticsRow& row = entry.row;
    ring::StatisticsMessage message{};
    message.header = {sizeof message, ring::MessageKind::statistics, 0};
    message.digest[0] = row.digest.high;
    message.digest[1] = row.digest.low;
    message.min = row.min;
    message.max = row.max;
    message.mean = row.mean;
    message.l2 = row.l2;
    message.elements = row.elements;
    message.nan = row.nan;
    message.inf = row.inf;
    message.zero = row.zero;
    message.subnormal = row.subnormal;
    message.dtype = static_cast<std::uint8_t>(row.dtype);
    out.put(message);
  }
  return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace ulpscope::dump
