import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.oauth2.server.authorization.token.JwtEncodingContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenCustomizer;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Spring Authorization Server: java -cp JARS spring.java PORT LIFE_SECONDS. */
@RestController
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class SpringServer {
    private final AtomicInteger issued = new AtomicInteger();

    public static void main(String[] args) {
        String client = "spring.security.oauth2.authorizationserver.client.one.";
        SpringApplication application = new SpringApplication(SpringServer.class);
        application.setDefaultProperties(Map.of(
            "server.address", "127.0.0.1",
            "server.port", args[0],
            client + "registration.client-id", "countersign",
            client + "registration.client-secret", "{noop}" + System.getenv("SECRET"),
            client + "registration.client-authentication-methods", "client_secret_basic",
            client + "registration.authorization-grant-types", "client_credentials",
            client + "registration.scopes", "orders",
            client + "token.access-token-time-to-live", args[1] + "s"));
        application.run();
    }

    @Bean
    SecurityFilterChain chain(HttpSecurity http) {
        return http.oauth2AuthorizationServer(Customizer.withDefaults())
            .oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults()))
            .authorizeHttpRequests(of -> of.requestMatchers("/issued").permitAll().anyRequest().authenticated())
            .build();
    }

    @Bean
    OAuth2TokenCustomizer<JwtEncodingContext> counter() {
        return context -> issued.incrementAndGet();
    }

    @GetMapping("/issued")
    Map<String, Integer> issued() {
        return Map.of("issued", issued.get());
    }

    @GetMapping("/guard")
    void guard() {}
}
