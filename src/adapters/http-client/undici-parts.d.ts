/** The file of the package that the proxy needs. Its types are those of the package's own entry. */
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export default Pool;
}
