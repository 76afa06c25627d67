/** What the programs beside this one share: they post each order of COUNT with a header of its own. */
const { BASE_URL, COUNT, HEADER, SET } = process.env;

export const url = `${BASE_URL}/create_order`;
export const order = { order_amount: 10.1, order_currency: "EUR" };
export const isSet = SET !== "";

/** Posts each order, and prints its status. */
export async function tell(post) {
  for (let number = 1; number <= Number(COUNT); number++) {
    try {
      console.log(await post({ [HEADER]: `order-${number}` }));
    } catch (error) {
      console.log("no answer");
      console.error(error.message);
    }
  }
  process.exit();
}
