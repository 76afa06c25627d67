{{/*
What `countersign check` refuses and values alone can tell: a sentence on each line. The check itself runs in the cluster, by
check.yaml, and is the judge; test/kubernetes holds the two together.
*/}}
{{- define "countersign.refusedConfiguration" -}}
{{- $config := .Values.config | default dict -}}
{{- range $name, $environment := $config.environments -}}
{{-   range $key := list "baseUrl" "authUrl" -}}
{{-     if and (regexMatch "^(?i)http:" (get $environment $key | default "")) (not $environment.allowPlaintext) }}
set config.environments.{{ $name }}.{{ $key }} to an https:// address, or allowPlaintext: true for tests
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- include "countersign.refusedDurations" $config -}}
{{- if and (eq ($config.tokens | default dict).cache "redis") (not $config.redis) }}
set config.redis, which config.tokens.cache: redis needs: url, encryptionKeys
{{- end -}}
{{- if ne .Values.mode "gateway" -}}
{{-   include "countersign.refusedListeners" $config -}}
{{- end -}}
{{- include "countersign.unmountedFiles" . -}}
{{- end -}}

{{- define "countersign.refusedDurations" -}}
{{- $timeouts := .timeouts | default dict -}}
{{- $reload := .reload | default dict -}}
{{- range list
      (list "timeouts.request" $timeouts.request "100ms" "600s")
      (list "timeouts.connect" $timeouts.connect "10ms" "60s")
      (list "timeouts.token" $timeouts.token "10ms" "60s")
      (list "reload.unreadyAfterRefusal" $reload.unreadyAfterRefusal "1s" "3600s") -}}
{{-   $given := index . 1 -}}
{{-   if $given -}}
{{-     $ms := include "countersign.milliseconds" $given | int64 -}}
{{-     $least := include "countersign.milliseconds" (index . 2) | int64 -}}
{{-     $most := include "countersign.milliseconds" (index . 3) | int64 -}}
{{-     if or (lt $ms $least) (gt $ms $most) }}
set config.{{ index . 0 }} to a duration from {{ index . 2 }} to {{ index . 3 }}, not {{ $given }}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{/* A sidecar's listeners; those of a gateway are made from its values. */}}
{{- define "countersign.refusedListeners" -}}
{{- $taken := dict "7412" (dict "what" "the admin port") "7413" (dict "what" "the status port") -}}
{{- range $index, $listener := .listeners -}}
{{-   $place := printf "config.listeners[%d]" $index -}}
{{-   if not (or .callers (regexMatch "^(?i)(unix:|localhost:|127(\\.\\d+){3}:|\\[[0:]*1\\]:)" .bind)) }}
set callers of {{ $place }}, which more than this pod can reach ({{ .bind }}): { NAME: { token: { file: … } } } or anyone; or bind it to 127.0.0.1
{{-   end -}}
{{-   if not (or (hasPrefix "unix:" .bind) (hasSuffix ":0" .bind)) -}}
{{-     $port := regexFind "[0-9]+$" .bind | int | toString -}}
{{-     $host := regexReplaceAll ":[0-9]+$" .bind "" -}}
{{-     $isOne := and (regexMatch "^(\\[.*\\]|\\d+(\\.\\d+){3})$" $host) (not (has $host (list "0.0.0.0" "[::]"))) -}}
{{-     with get $taken $port -}}
{{-       $areApart := and $isOne .isOne (ne $host .host) (eq $listener.environment .environment) -}}
{{-       if not $areApart }}
give {{ $place }} a port of its own: {{ .what }} listens on {{ $port }}
{{-       end -}}
{{-     else -}}
{{-       $_ := set $taken $port (dict "what" $place "isOne" $isOne "host" $host "environment" .environment) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{/* Files of secrets, and sockets, in folders that the container does not have. The image has none of them. */}}
{{- define "countersign.unmountedFiles" -}}
{{- $folders := list -}}
{{- range .Values.secrets -}}
{{-   $folders = append $folders (printf "/run/secrets/countersign/%s" .folder) -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{-   $folders = append $folders (clean .mountPath) -}}
{{- end -}}
{{- $config := dict "config" .Values.config "listeners" .Values.gateway.listeners -}}
{{- range $path := include "countersign.namedFiles" $config | trim | splitList "\n" | uniq -}}
{{-   $isMounted := empty $path -}}
{{-   range $folder := $folders -}}
{{-     $isMounted = or $isMounted (hasPrefix (printf "%s/" $folder) (printf "%s/" $path)) -}}
{{-   end -}}
{{-   if not $isMounted }}
mount what {{ $path }} of the configuration is in: by an entry of secrets, or by extraVolumes and extraVolumeMounts (mounted: {{ join ", " $folders | default "nothing" }})
{{-   end -}}
{{- end -}}
{{- end -}}

{{/* Every path that a configuration names, on a line each; relative ones are beside countersign.yaml. An authority may be the image's. */}}
{{- define "countersign.namedFiles" -}}
{{- if kindIs "map" . -}}
{{-   range $key, $value := . -}}
{{-     if kindIs "string" $value -}}
{{-       $isSecret := has $key (list "dir" "file" "certFile" "keyFile") -}}
{{-       $isSocket := and (has $key (list "bind" "url")) (hasPrefix "unix:" $value) -}}
{{-       $isAuthority := and (eq $key "caFile") (hasPrefix "/run/secrets/" $value) -}}
{{-       if or $isSecret $isSocket $isAuthority -}}
{{-         $path := $value | trimPrefix "unix:" | regexFind "^[^?]+" }}
{{ hasPrefix "/" $path | ternary $path (printf "/etc/countersign/%s" $path) | clean }}
{{-       end -}}
{{-     else -}}
{{-       include "countersign.namedFiles" $value -}}
{{-     end -}}
{{-   end -}}
{{- else if kindIs "slice" . -}}
{{-   range . -}}
{{-     include "countersign.namedFiles" . -}}
{{-   end -}}
{{- end -}}
{{- end -}}
