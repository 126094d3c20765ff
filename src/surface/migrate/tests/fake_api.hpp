#pragma once
/// @file
/// Answers of an HTTP API by target, as texts; what is not in it is 404. Requests that are no GET are kept.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "migrate/inventory.hpp"

namespace underway::migrate::testing {

struct FakeApi {
  std::map<std::string, Reply> answers;  ///< by target, without `per_page`
  struct Sent {
    std::string method, target, body;
  };
  std::vector<Sent> sent;
  std::function<Reply(const Sent&)> writes = [](const Sent&) { return Reply{200, "{}", ""}; };

  void get(const std::string& target, std::string body) { answers[target] = {200, std::move(body), ""}; }

  Send send() {
    return [this](const std::string& method, const std::string& target, const std::string& body) {
      if (method != "GET") {
        sent.push_back({method, target, body});
        return writes(sent.back());
      }
      std::string key = target;
      for (const std::string page : {"?per_page=500", "&per_page=500"}) {
        if (const auto at = key.find(page); at != std::string::npos) key.erase(at, page.size());
      }
      const auto found = answers.find(key);
      return found != answers.end() ? found->second : Reply{404, "Invalid URL path: " + key, ""};
    };
  }

  Inventory read(const Selection& selection = {}) { return read_inventory(send(), selection); }
};

/// A job as `GET /v1/job/:id` of Nomad's documentation tells it, shortened.
inline std::string nomad_job(const std::string& id, const std::string& ns = "default", const std::string& more = "",
                             const std::string& more_of_group = "", const std::string& driver = "docker") {
  return R"({"Affinities":null,"AllAtOnce":false,"Constraints":null,"CreateIndex":52,"Datacenters":["dc1"],)"
         R"("Dispatched":false,"ID":")" +
         id +
         R"(","JobModifyIndex":52,"Meta":null,"Migrate":null,"ModifyIndex":93,)"
         R"("Multiregion":null,"Name":")" +
         id + R"(","Namespace":")" + ns +
         R"(","NodePool":"default","NomadTokenID":"f4e6","ParameterizedJob":null,"ParentID":"","Payload":null,)"
         R"("Periodic":null,"Priority":50,"Region":"global","Reschedule":null,"Spreads":null,"Stable":true,)"
         R"("Status":"running","StatusDescription":"","Stop":false,"SubmitTime":1700000000000000000,"Type":"service",)"
         R"("Update":{"AutoPromote":false,"AutoRevert":false,"Canary":0,"HealthCheck":"","HealthyDeadline":0,)"
         R"("MaxParallel":1,"MinHealthyTime":0,"ProgressDeadline":0,"Stagger":30000000000},"VaultToken":"","Version":0,)" +
         more +
         R"("TaskGroups":[{"Affinities":null,"Constraints":[{"LTarget":"${attr.nomad.service_discovery}",)"
         R"("Operand":"=","RTarget":"true"}],"Consul":{"Namespace":""},"Count":1,)"
         R"("EphemeralDisk":{"Migrate":false,"SizeMB":300,"Sticky":false},"MaxClientDisconnect":null,"Meta":null,)"
         R"("Name":"cache",)" +
         more_of_group +
         R"("Networks":[{"CIDR":"","DNS":null,"Device":"","DynamicPorts":[{"HostNetwork":"default","Label":"db","To":6379,)"
         R"("Value":0}],"Hostname":"","IP":"","MBits":0,"Mode":"","ReservedPorts":null}],)"
         R"("ReschedulePolicy":{"Attempts":0,"Delay":30000000000,"DelayFunction":"exponential","Interval":0,)"
         R"("MaxDelay":3600000000000,"Unlimited":true},"RestartPolicy":{"Attempts":2,"Delay":15000000000,)"
         R"("Interval":1800000000000,"Mode":"fail"},"Scaling":null,"ShutdownDelay":null,"StopAfterClientDisconnect":null,)"
         R"("Tasks":[{"Affinities":null,"Artifacts":null,"CSIPluginConfig":null,"Config":{"image":"redis:7"},)"
         R"("Constraints":null,"DispatchPayload":null,"Driver":")" +
         driver +
         R"(","Env":null,)"
         R"("Identity":{"Audience":["nomadproject.io"],"ChangeMode":"","ChangeSignal":"","Env":false,"File":false,)"
         R"("Name":"default","ServiceName":"","TTL":0},"KillSignal":"","KillTimeout":5000000000,"Kind":"","Leader":false,)"
         R"("Lifecycle":null,"LogConfig":{"Disabled":false,"MaxFileSizeMB":10,"MaxFiles":10},"Meta":null,"Name":"redis",)"
         R"("Resources":{"CPU":500,"Cores":0,"Devices":null,"DiskMB":0,"IOPS":0,"MemoryMB":256,"MemoryMaxMB":0,)"
         R"("Networks":null},"RestartPolicy":{"Attempts":2,"Delay":15000000000,"Interval":1800000000000,"Mode":"fail"},)"
         R"("ScalingPolicies":null,"Services":null,"ShutdownDelay":0,"Templates":null,"User":"","Vault":null,)"
         R"("VolumeMounts":null}],"Update":{"AutoPromote":false,"AutoRevert":false,"Canary":0,"HealthCheck":"checks",)"
         R"("HealthyDeadline":300000000000,"MaxParallel":1,"MinHealthyTime":10000000000,)"
         R"("ProgressDeadline":600000000000,"Stagger":30000000000},"Volumes":null}]})";
}

inline std::string stub(const std::string& id, const std::string& ns = "default", const std::string& more = "") {
  return R"({"ID":")" + id + R"(","ParentID":"","Name":")" + id + R"(","Namespace":")" + ns +
         R"(","Type":"service","Status":"running","Stop":false)" + more + "}";
}

/// A small Nomad with one of everything.
inline FakeApi small_nomad() {
  FakeApi api;
  api.get("/v1/node/pools", R"([{"Name":"all","Description":"Node pool with all nodes in the cluster."},)"
                            R"({"Name":"gpu","Description":"GPUs","Meta":{"rack":"7"}}])");
  api.get("/v1/quotas", R"([{"Name":"fair","Description":"","Limits":[{"Region":"global","Hash":"NLOoV2WBU8ieJIrY",)"
                        R"("RegionLimit":{"CPU":2500,"MemoryMB":2000}}]}])");
  api.get("/v1/namespaces",
          R"([{"Name":"default","Description":"Default shared namespace","Capabilities":null},)"
          R"({"Name":"hpc","Description":"Slurm","Meta":{"owner":"ops"},"Quota":"",)"
          R"("Capabilities":{"EnabledTaskDrivers":["raw_exec","docker"],"DisabledTaskDrivers":null}}])");
  api.get("/v1/acl/policies", R"([{"Name":"ops","Description":"Operators","CreateIndex":1,"ModifyIndex":1}])");
  api.get("/v1/acl/policy/ops", R"({"Name":"ops","Description":"Operators","JobACL":null,"CreateIndex":1,)"
                                R"("ModifyIndex":1,"Rules":"namespace \"hpc\" {\n  policy = \"write\"\n}\n"})");
  api.get("/v1/acl/roles",
          R"([{"ID":"c3bd","Name":"operators","Description":"","Policies":[{"Name":"ops"}],"Hash":"x"}])");
  api.get("/v1/acl/tokens", R"([{"AccessorID":"5f2c","Name":"ci","Type":"client","Policies":["ops"],"Roles":null},)"
                            R"({"AccessorID":"77aa","Name":"boss","Type":"management","Policies":null,"Roles":null},)"
                            R"({"AccessorID":"88bb","Name":"guest","Type":"client","Policies":["ops"],)"
                            R"("ExpirationTime":"2030-01-01T00:00:00Z"}])");
  api.get("/v1/acl/token/5f2c",
          R"({"AccessorID":"5f2c","SecretID":"lion-17","Name":"ci","Type":"client","Policies":["ops"],)"
          R"("Roles":[{"ID":"c3bd","Name":"operators"}],"Global":false,"Hash":"x","CreateIndex":4,"ModifyIndex":4})");
  api.get("/v1/acl/auth-methods", R"([{"Name":"site","Type":"OIDC","Default":true}])");
  api.get(
      "/v1/acl/auth-method/site",
      R"({"Name":"site","Type":"OIDC","TokenLocality":"local","MaxTokenTTL":"1h0m0s","Default":true,)"
      R"("TokenNameFormat":"${auth_method_type}-${auth_method_name}","Config":{"OIDCDiscoveryURL":"https://id.example.org",)"
      R"("OIDCClientID":"nomad","OIDCClientSecret":"tiger-42","BoundAudiences":["nomad"],)"
      R"("AllowedRedirectURIs":["http://localhost:4649/oidc/callback"],"ListClaimMappings":{"groups":"groups"}}})");
  api.get("/v1/acl/binding-rules", R"([{"ID":"b1","AuthMethod":"site","Description":""}])");
  api.get("/v1/acl/binding-rule/b1",
          R"({"ID":"b1","AuthMethod":"site","Selector":"ops in list.groups","BindType":"role",)"
          R"("BindName":"operators","Description":""})");
  api.get("/v1/operator/scheduler/configuration",
          R"({"SchedulerConfig":{"SchedulerAlgorithm":"spread","PreemptionConfig":{"SystemSchedulerEnabled":true,)"
          R"("SysBatchSchedulerEnabled":false,"BatchSchedulerEnabled":false,"ServiceSchedulerEnabled":false},)"
          R"("MemoryOversubscriptionEnabled":false,"RejectJobRegistration":false,"PauseEvalBroker":false,)"
          R"("CreateIndex":5,"ModifyIndex":5},"Index":5})");
  api.get("/v1/vars?namespace=*", R"([{"Namespace":"hpc","Path":"nomad/jobs/munge","CreateIndex":7,"ModifyIndex":9}])");
  api.get("/v1/var/nomad/jobs/munge?namespace=hpc",
          R"({"Namespace":"hpc","Path":"nomad/jobs/munge","ModifyIndex":9,"Items":{"key":"hush-hush"}})");
  api.get("/v1/jobs?namespace=*", "[" + stub("redis") + "," + stub("munge", "hpc") + "]");
  api.get("/v1/job/redis?namespace=default", nomad_job("redis"));
  api.get("/v1/job/munge?namespace=hpc", nomad_job("munge", "hpc"));
  api.get(
      "/v1/job/munge/submission?version=0&namespace=hpc",
      R"({"Source":"job \"munge\" { # by hand\n}","Format":"hcl2","Variables":"a = 1\n","VariableFlags":{"b":"2"}})");
  return api;
}

/// An Underway on which nothing is yet.
inline FakeApi empty_underway() {
  FakeApi api;
  for (const std::string path : {"node/pools", "quotas", "acl/policies", "acl/roles", "acl/tokens", "acl/auth-methods",
                                 "acl/binding-rules", "vars?namespace=*", "jobs?namespace=*"})
    api.get("/v1/" + path, "[]");
  api.get("/v1/namespaces", R"([{"Name":"default","Description":"Default shared namespace"}])");
  api.get("/v1/operator/scheduler/configuration",
          R"({"SchedulerConfig":{"SchedulerAlgorithm":"binpack","PreemptionConfig":{"SystemSchedulerEnabled":true}}})");
  return api;
}

}  // namespace underway::migrate::testing
