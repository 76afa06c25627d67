{{/* Where the container listens for callers and for callbacks: a list of `name` and `port`. */}}
{{- define "countersign.gatewayPorts" -}}
{{- range .Values.gateway.listeners }}
- { name: callers-{{ int .port }}, port: {{ int .port }} }
{{- end }}
{{- range include "countersign.callbackPorts" . | fromYamlArray }}
- { name: callbacks-{{ int . }}, port: {{ int . }} }
{{- end }}
{{- end -}}

{{- define "countersign.callbackPorts" -}}
{{- range .Values.config.callbacks }}
- {{ regexFind "[0-9]+$" .bind }}
{{- end }}
{{- end -}}

{{/* Ports of the servers that the configuration names, as a list. */}}
{{- define "countersign.egressPorts" -}}
{{- $config := .Values.config -}}
{{- $redis := $config.redis | default dict -}}
{{- $urls := concat (list $redis.url (dig "tracing" "otlp" "endpoint" "" $config)) ($redis.lockNodes | default list) -}}
{{- range dig "cluster" "nodes" list $redis -}}
{{-   $urls = append $urls (printf "redis://%s" .) -}}
{{- end -}}
{{- range $config.callbacks -}}
{{-   $urls = append $urls .application.url -}}
{{- end -}}
{{- range $config.environments -}}
{{-   $egress := ternary .egress dict (kindIs "map" .egress) -}}
{{-   $urls = append $urls $egress.proxy -}}
{{-   if or $egress.noProxy (not $egress.proxy) -}}
{{-     $urls = concat $urls (list .baseUrl .authUrl (dig "token" "url" "" .)) -}}
{{-     range omit .sites "folder" -}}
{{-       range prepend (values (.children | default dict)) . -}}
{{-         range .credentials -}}
{{-           $urls = append $urls (dig "token" "url" "" .) -}}
{{-         end -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- $ports := list -}}
{{- range compact $urls -}}
{{-   $url := urlParse . -}}
{{-   $default := get (dict "https" "443" "http" "80" "rediss" "6379" "redis" "6379") $url.scheme -}}
{{-   $ports = append $ports (regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default $default) -}}
{{- end -}}
{{- range compact $ports | uniq | sortAlpha }}
- {{ . }}
{{- end }}
{{- end -}}

{{/* What keeps the pods from being reached, opens them to all, or is not in the configuration: a sentence on each line. */}}
{{- define "countersign.refusedNetwork" -}}
{{- $config := .Values.config -}}
{{- $policy := .Values.gateway.networkPolicy -}}
{{- $ports := list 7412 7413 -}}
{{- range include "countersign.gatewayPorts" . | fromYamlArray -}}
{{-   $ports = append $ports (int .port) -}}
{{- end -}}
{{- if ne (len $ports) (len (uniq $ports)) }}
give each of gateway.listeners and config.callbacks a port of its own; with those of admin and status they are {{ join ", " $ports }}
{{- end -}}
{{- range $config.callbacks -}}
{{-   if not (regexMatch `^(0\.0\.0\.0|\[::\])?:[1-9][0-9]*$` .bind) }}
set bind of config.callbacks to :PORT, which a Service can reach, not {{ .bind }}
{{-   end -}}
{{- end -}}
{{- if $policy.enabled -}}
{{-   if not (and $policy.callers $policy.metrics) }}
name peers in gateway.networkPolicy.callers and .metrics: a NetworkPolicy without any lets everybody in
{{-   end -}}
{{-   if and $config.callbacks (not $policy.callbacks) }}
name peers in gateway.networkPolicy.callbacks: the pods of the ingress through which the service calls back
{{-   end -}}
{{-   if and $policy.callbacks (not $config.callbacks) }}
set config.callbacks, or leave gateway.networkPolicy.callbacks out: it lets nobody in
{{-   end -}}
{{-   if not (kindIs "slice" $policy.egress) -}}
{{-     if ($config.redis | default dict).sentinel }}
set gateway.networkPolicy.egress: only Sentinels know which ports the masters of config.redis have
{{-     end -}}
{{-     range $name, $environment := $config.environments -}}
{{-       if kindIs "string" $environment.egress }}
set gateway.networkPolicy.egress: egress of {{ $name }} is in variables, which the chart does not read
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
