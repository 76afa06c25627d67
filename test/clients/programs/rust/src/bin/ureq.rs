use orders::{is_set, order, tell, url};
use ureq::Agent;

fn main() {
    let config = Agent::config_builder().http_status_as_error(false);
    let config = if is_set() { config.max_redirects(0) } else { config };
    let agent: Agent = config.build().into();
    tell(|header, reference| {
        let mut answer = agent.post(url()).header(header, reference).send_json(order())?;
        let status = answer.status().as_u16();
        answer.body_mut().read_to_string().map(|_| status)
    });
}
