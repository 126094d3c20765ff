#include "model/impact.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<Impact>) {
  static const Enumeration e = describe::enumeration<Impact>("impact");
  return e;
}

const Structure& description(Tag<Judgement>) {
  static const Structure s =
      Builder<Judgement>("judgement", "What a change does to those who use it.")
          .wire<&Judgement::impact>(
              "Class",
              "none, brief (a service is away for seconds), drain or outage: the worst of all that the change does.")
          .wire<&Judgement::why>("Why", "What it does of that class, in one line; of many the first three.")
          .done();
  return s;
}

const Structure& description(Tag<Prospect>) {
  static const Structure s =
      Builder<Prospect>("prospect", "How a change reaches what runs, and what is true if it does not work.")
          .wire<&Prospect::what>("What", "What is replaced, for people: a job, a group of one, or a capsule.")
          .wire<&Prospect::rollout>(
              "Rollout", "In which steps it is replaced, and whether it goes back by itself when one fails, in words.")
          .wire<&Prospect::if_it_fails>(
              "IfItFails", "What is away, and for how long at most, if the new version does not work; in words.")
          .done();
  return s;
}

const Structure& description(Tag<ChangeEntry>) {
  static const Structure s =
      Builder<ChangeEntry>("change entry", "A change that was made, and what those who use the cluster noticed.")
          .wire<&ChangeEntry::number>("Number",
                                      "1, 2, … in the order in which changes were made; none is given out twice.")
          .wire<&ChangeEntry::at>("Time", "When it was made, by the server's clock.")
          .time()
          .wire<&ChangeEntry::who>("Who", "Name of the token that made it, or its accessor where it has no name.")
          .wire<&ChangeEntry::request_id>("RequestID",
                                          "Of the request that made it, as in the audit log; empty: there is none.")
          .wire<&ChangeEntry::what>("What", "What was asked for, for people: \"apply cluster 'demo'\".")
          .wire<&ChangeEntry::ns>("Namespace", "Namespace that it concerns; empty: it is of no single one.")
          .wire<&ChangeEntry::impact>("Class", "The worst that it does: none, brief, drain or outage.")
          .wire<&ChangeEntry::why>("Why", "What it does of that class, in one line; of many the first few.")
          .wire<&ChangeEntry::create_index>("CreateIndex",
                                            "Revision of the store that has both the change and this entry.")
          .done();
  return s;
}

}  // namespace underway::model
