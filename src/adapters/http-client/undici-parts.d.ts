/** The file of the package that the proxy needs; the package's own entry adds `request` and the like to the class. */
declare module "undici/lib/dispatcher/pool.js" {
  import type { Pool as Whole } from "undici";

  type Pool = Omit<Whole, "request" | "stream" | "pipeline" | "connect" | "upgrade">;
  const Pool: new (...options: ConstructorParameters<typeof Whole>) => Pool;
  export default Pool;
}
