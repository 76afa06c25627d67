/** Each code of the failure table is answered, logged and counted with its status, outcome and detail. */
import { describe, expect, it } from "vitest";
import { failures, requestFailureCodes } from "../../../src/model/errors.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { callBadly, type FailureCase, reference } from "../../../testkit/failure-case.ts";
import { stageProxy } from "../../../testkit/stage.ts";
import { failuresAfterAdmission } from "./failures-after-admission.ts";
import { failuresOfTheParameters, failuresOfTheRequest } from "./failures-of-the-request.ts";

const cases = [...failuresOfTheRequest, ...failuresOfTheParameters, ...failuresAfterAdmission];

describe.each([
  ["the request", failuresOfTheRequest],
  ["the parameters", failuresOfTheParameters],
  ["whatever is behind the door", failuresAfterAdmission],
])("failures of %s", (_, group) => {
  it.each(group)("$status $code: $way", prove);
});

async function prove({ code, status, outcome = "not_sent", detail, sent = 0, isReferenced, provoke }: FailureCase) {
  const { stage, answer } = await provoke();
  const given = isReferenced === false ? undefined : reference;
  const requestId = expectFailure(answer, { code, status, outcome, detail, reference: given });
  expect(stage.simulator.counts().apiRequests).toBe(sent);
  const finished = await stage.recorder.nth("request_finished", 1, (event) => event.requestId === requestId);
  expect(finished).toMatchObject({ code, status, outcome, by: "countersign", reference: given, callerLeft: false });
  expect(stage.recorder.count("defect")).toBe(code === "internal" ? 1 : 0);
}

it("leads into the documentation where its site is known", async () => {
  const stage = await stageProxy({ config: { docsUrl: "https://docs.example/pay" } });
  const { json } = await callBadly(stage, { path: "/delete_all" });
  expect(json.type).toBe("https://docs.example/pay/docs/reference/errors.html#operation_not_allowed");
});

describe("the table of failures", () => {
  it("has been provoked in full", () => {
    const provoked = new Set(cases.map(({ code }) => code));
    expect(requestFailureCodes.filter((code) => !provoked.has(code))).toEqual([]);
  });

  it("has been provoked with every outcome that it names", () => {
    const provoked = new Set(cases.map(({ code, outcome = "not_sent" }) => `${code} ${outcome}`));
    const named = requestFailureCodes.flatMap((code) => failures[code].outcomes.map((outcome) => `${code} ${outcome}`));
    expect(named.filter((pair) => !provoked.has(pair))).toEqual([]);
  });
});
