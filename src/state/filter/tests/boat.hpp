#pragma once
/// @file
/// A struct that has one member of every kind, for the tests and the fuzz target.

#include <boost/json.hpp>

#include "filter/filter.hpp"

namespace underway::filter::testing {

enum class Rig { sloop, ketch };

struct Sailor {
  std::string name;
  std::int64_t age = 0;
  std::vector<std::string> skills;
};

struct Boat {
  std::string name;
  Rig rig = Rig::sloop;
  std::int64_t crew = 0;
  double length = 0;
  bool at_sea = false;
  Duration watch{};
  std::int64_t launched = 0;
  std::int64_t hold = 0;
  std::vector<std::string> ports;
  std::vector<Sailor> sailors;
  std::map<std::string, std::string> meta;
  std::map<std::string, Sailor> posts;
  std::optional<Sailor> captain;
  std::optional<bool> insured;
  boost::json::value papers;
};

inline const describe::Enumeration& description(describe::Tag<Rig>) {
  static const auto e = describe::enumeration<Rig>("rig");
  return e;
}
inline const describe::Structure& description(describe::Tag<Sailor>) {
  static const auto s = describe::Builder<Sailor>("sailor", "One who sails a boat.")
                            .wire<&Sailor::name>("Name", "What he is called.")
                            .wire<&Sailor::age>("Age", "Years.")
                            .wire<&Sailor::skills>("Skills", "What he can do.")
                            .done();
  return s;
}
inline const describe::Structure& description(describe::Tag<Boat>) {
  static const auto s = describe::Builder<Boat>("boat", "A boat, with one member of every kind.")
                            .wire<&Boat::name>("Name", "What it is called.")
                            .wire<&Boat::rig>("Rig", "How it carries its sails.")
                            .wire<&Boat::crew>("Crew", "How many sail it.")
                            .wire<&Boat::length>("Length", "Metres.")
                            .wire<&Boat::at_sea>("AtSea", "Whether it has left the port.")
                            .wire<&Boat::watch>("Watch", "How long a watch is.")
                            .wire<&Boat::launched>("Launched", "When it was first in the water.")
                            .time()
                            .wire<&Boat::hold>("Space.HoldMB", "What its hold takes.")
                            .wire<&Boat::ports>("Ports", "Where it calls, in order.")
                            .wire<&Boat::sailors>("Sailors", "Those on board.")
                            .wire<&Boat::meta>("Meta", "Free pairs.")
                            .wire<&Boat::posts>("Posts", "Who stands where, by post.")
                            .wire<&Boat::captain>("Captain", "Who commands it; absent: nobody.")
                            .wire<&Boat::insured>("Insured", "Whether it is; absent: not known.")
                            .wire<&Boat::papers>("Papers", "Anything that is written of it.")
                            .done();
  return s;
}

inline Boat argo() {
  Boat boat;
  boat.name = "argo";
  boat.rig = Rig::ketch;
  boat.crew = 50;
  boat.length = 23.5;
  boat.at_sea = true;
  boat.watch = std::chrono::hours(4);
  boat.launched = 1'600'000'000'000'000'000;
  boat.hold = 7;
  boat.ports = {"iolcus", "lemnos", "colchis"};
  boat.sailors = {{"orpheus", 30, {"lyre", "song"}}, {"tiphys", 44, {"helm"}}};
  boat.meta = {{"team", "hpc"}, {"a.b", "dotted"}, {"slash/ed", "yes"}, {"empty", ""}};
  boat.posts = {{"helm", {"tiphys", 44, {}}}, {"oar", {"heracles", 33, {}}}};
  boat.captain = Sailor{"jason", 25, {}};
  boat.papers = boost::json::parse(R"({"flag":"thessaly","tons":120,"mixed":[1,"true",true,null,2.5],"none":null})");
  return boat;
}

}  // namespace underway::filter::testing
