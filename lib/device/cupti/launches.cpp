#include "device/launches.hpp"

#include <cupti.h>

#include <array>
#include <atomic>

namespace ulpscope::device {
namespace {

constexpr std::array kLaunches{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

std::atomic<OnLaunch> told{nullptr};
std::atomic<CUptiResult> last_failure{CUPTI_SUCCESS};
CUpti_SubscriberHandle subscriber = nullptr;

void CUPTIAPI on_call(void* /*context*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
                      const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite != CUPTI_API_ENTER) return;
  if (const OnLaunch tell = told.load(std::memory_order_acquire)) tell(call.symbolName);
}

[[nodiscard]] bool succeeded(CUptiResult result) noexcept {
  if (result != CUPTI_SUCCESS) last_failure.store(result);
  return result == CUPTI_SUCCESS;
}

void end() noexcept {
  told.store(nullptr, std::memory_order_release);
  if (subscriber != nullptr) (void)cuptiUnsubscribe(subscriber);
  subscriber = nullptr;
}

[[nodiscard]] bool begin(OnLaunch tell) noexcept {
  told.store(tell, std::memory_order_release);
  if (!succeeded(cuptiSubscribe(&subscriber, &on_call, nullptr))) {
    subscriber = nullptr;
    return false;
  }
  for (const auto launch : kLaunches) {
    if (succeeded(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launch))) continue;
    end();
    return false;
  }
  return true;
}

[[nodiscard]] const char* trouble() noexcept {
  const char* text = nullptr;
  const bool known = cuptiGetResultString(last_failure.load(), &text) == CUPTI_SUCCESS;
  return known && text != nullptr ? text : "an error of CUPTI";
}

constexpr LaunchFunctions kFunctions{LaunchFunctions::kVersion, &begin, &end, &trouble};

}  // namespace
}  // namespace ulpscope::device

const ulpscope::device::LaunchFunctions* ulpscope_launch_functions(std::uint32_t version) {
  return version == ulpscope::device::LaunchFunctions::kVersion ? &ulpscope::device::kFunctions
                                                                : nullptr;
}
