// nginx with njs doing the signing job.
// biome-ignore lint/style/useNodejsImportProtocol: njs knows the module by this name only
import crypto from "crypto";

const key = "a-key-for-the-benchmark-only";

function sign(r) {
  const given = JSON.parse(r.requestText);
  const body = {};
  for (const name in given) body[name] = name.endsWith("_amount") ? given[name].toFixed(2) : String(given[name]);
  body.version = "3.0";
  body.site_identifier = "S1000000001";
  body.timestamp = String(Math.floor(Date.now() / 1000));
  const signed = Object.keys(body)
    .sort()
    .map((name) => name + body[name])
    .join("");
  body.signature = crypto.createHmac("sha256", key).update(signed).digest("hex");
  r.subrequest("/upstream", { method: "POST", body: JSON.stringify(body) }, (reply) => {
    r.headersOut["Content-Type"] = "application/json";
    r.return(reply.status, reply.responseText);
  });
}

export default { sign };
