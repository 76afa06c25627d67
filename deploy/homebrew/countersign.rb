# Template: scripts/release/artifacts.sh fills in version and checksum of the npm package; the result goes to the tap.
class Countersign < Formula
  desc "Outbound, auth-injecting HTTP sidecar: plain JSON in, authorised requests out"
  homepage "https://github.com/countersign/countersign"
  url "https://registry.npmjs.org/countersign/-/countersign-@VERSION@.tgz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  service do
    run [opt_bin/"countersign", "serve", "--config", etc/"countersign/countersign.yaml"]
    keep_alive crashed: true
    log_path var/"log/countersign.log"
    error_log_path var/"log/countersign.log"
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/countersign --version").strip
    (testpath/"secret").write "a client secret of sixteen bytes or more"
    (testpath/"secret").chmod 0600
    (testpath/"countersign.yaml").write <<~YAML
      listeners:
        - { bind: "127.0.0.1:7411", environment: sandbox }
      admin: { bind: "127.0.0.1:7412" }
      status: { bind: "127.0.0.1:7413" }
      environments:
        sandbox:
          baseUrl: https://api.sandbox.example/json-api
          authUrl: https://login.sandbox.example
          operations: [create_order]
          sites:
            S1000000001:
              credentials:
                - { name: blue, clientId: blue-id, clientSecret: { file: #{testpath}/secret }, audience: "https://api.sandbox.example" }
    YAML
    system bin/"countersign", "check", "--config", testpath/"countersign.yaml"
  end
end
