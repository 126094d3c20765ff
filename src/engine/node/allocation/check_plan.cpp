#include "node/allocation/check_plan.hpp"

#include "model/service_instance.hpp"

namespace underway::node {
namespace {

/// Source: FNV-1a, 64 bits. The id is for machines that compare results; it hides nothing.
std::string identity(std::initializer_list<std::string_view> parts) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::string_view part : parts) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash = (hash ^ 0xffU) * 0x100000001b3U;
  }
  return fmt::format("{:016x}", hash);
}

void find_address(CheckPlan& plan, const model::Service& service, const model::Allocation& allocation,
                  const model::Node& node) {
  const std::string& label = plan.check.port.empty() ? service.port : plan.check.port;
  const auto port = model::find_service_address(allocation, label, plan.check.address_mode, &node);
  if (!port || port->port == 0) {
    plan.problem = fmt::format("the allocation has no port '{}'", label);
    return;
  }
  plan.address = port->ip.empty() ? "127.0.0.1" : port->ip;
  plan.port = port->port;
}

CheckPlan plan_check(const model::Check& check, const model::DeclaredService& declared,
                     const model::Allocation& allocation, const model::Node& node, std::size_t number) {
  const model::Service& service = *declared.service;
  const auto fill = [&](const std::string& text) { return model::interpolate(text, allocation, declared.task, &node); };
  CheckPlan plan;
  plan.service = model::service_name(allocation, declared);
  plan.group = allocation.group;
  plan.name = check.name.empty() ? fmt::format("service: \"{}\" check", plan.service) : fill(check.name);
  plan.task = !check.task.empty() ? check.task : declared.task != nullptr ? declared.task->name : service.task;
  plan.check = check;
  plan.check.path = fill(check.path);
  plan.check.body = fill(check.body);
  for (auto& [name, values] : plan.check.headers)
    for (auto& value : values) value = fill(value);
  plan.on_update = !check.on_update.empty() ? check.on_update : service.on_update;
  if (check.check_restart)
    plan.restart = *check.check_restart;
  else if (service.check_restart)
    plan.restart = *service.check_restart;
  plan.id = identity({allocation.id, plan.task, plan.service, plan.name, check.type, std::to_string(number)});
  if (check.type != "script") find_address(plan, service, allocation, node);
  return plan;
}

}  // namespace

std::vector<CheckPlan> plan_checks(const model::Allocation& allocation, const model::Node& node) {
  std::vector<CheckPlan> plans;
  for (const auto& declared : model::declared_services(allocation)) {
    std::size_t number = 0;
    for (const auto& check : declared.service->checks)
      plans.push_back(plan_check(check, declared, allocation, node, number++));
  }
  return plans;
}

bool same_check(const CheckPlan& a, const CheckPlan& b) {
  return a.id == b.id && a.address == b.address && a.port == b.port && a.problem == b.problem &&
         a.on_update == b.on_update && describe::equal(a.check, b.check) && describe::equal(a.restart, b.restart);
}

ProbeRequest probe_request(const CheckPlan& plan) {
  const model::Check& check = plan.check;
  ProbeRequest request;
  request.address = plan.address;
  request.port = static_cast<std::uint16_t>(plan.port);
  request.timeout = check.timeout;
  if (check.type != "http") return request;
  request.http = true;
  request.tls = check.protocol == "https";
  request.verify = !check.tls_skip_verify;
  request.server_name = check.tls_server_name;
  request.method = check.method;
  request.path = check.path.starts_with('/') ? check.path : "/" + check.path;
  request.body = check.body;
  for (const auto& [name, values] : check.headers)
    for (const auto& value : values) request.headers.emplace_back(name, value);
  return request;
}

}  // namespace underway::node
