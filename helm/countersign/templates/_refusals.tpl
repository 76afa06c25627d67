{{/* Ends the rendering with a sentence for each decision that the chart cannot make. */}}
{{- define "countersign.refuse" -}}
{{- if not (hasKey .Values "graceReserveSeconds") -}}
{{-   fail "countersign: give its templates its own context: include \"countersign.…\" .Subcharts.countersign" -}}
{{- end -}}
{{- include (ternary "countersign.refuseInjection" "countersign.refuseConfiguration" .Values.injection.enabled) . -}}
{{- end -}}

{{/* A release for pods of other releases: the policies of the label, or nothing but monitoring. Not empty means yes. */}}
{{- define "countersign.isForOthers" -}}
{{- $monitoring := or .Values.podMonitor.enabled (.Values.rules).enabled (.Values.dashboards).enabled -}}
{{- $own := or .Values.config .Values.secrets .Values.gateway.listeners .Values.serviceMonitor.enabled (eq .Values.mode "gateway") -}}
{{- if or .Values.injection.enabled (and $monitoring (not $own)) }}yes{{ end -}}
{{- end -}}

{{- define "countersign.refuseConfiguration" -}}
{{- $config := .Values.config | default dict -}}
{{- $environments := keys ($config.environments | default dict) | sortAlpha -}}
{{- $missing := list -}}
{{- if not $environments -}}
{{-   $missing = append $missing "set config.environments: for each environment of the service its baseUrl, authUrl, operations and sites" -}}
{{- end -}}
{{- if not ($config.tokens | default dict).cache -}}
{{-   $missing = append $missing "set config.tokens.cache: redis (all pods share one token for each credential set; needs config.redis) or memory (each pod fetches its own)" -}}
{{- end -}}
{{- if eq .Values.mode "gateway" -}}
{{-   if not .Values.gateway.listeners -}}
{{-     $missing = append $missing "set gateway.listeners: for each environment its port and its callers" -}}
{{-   end -}}
{{-   range .Values.gateway.listeners -}}
{{-     if not .callers -}}
{{-       $missing = append $missing (printf "set callers of gateway.listeners for %s: { NAME: { token: { file: … } } }, or anyone if a NetworkPolicy decides" .environment) -}}
{{-     end -}}
{{-   end -}}
{{-   range list "countersign.refusedPods" "countersign.refusedNetwork" -}}
{{-     with include . $ | trim -}}
{{-       $missing = concat $missing (splitList "\n" .) -}}
{{-     end -}}
{{-   end -}}
{{-   if $config.listeners -}}
{{-     $missing = append $missing "set gateway.listeners instead of config.listeners, which the chart makes from them" -}}
{{-   end -}}
{{- else if and (gt (len $environments) 1) (not $config.listeners) -}}
{{-   $missing = append $missing (printf "set config.listeners: an address for each of the environments (%s)" (join ", " $environments)) -}}
{{- end -}}
{{- if and (ne .Values.mode "gateway") .Values.gateway.listeners -}}
{{-   $missing = append $missing "set mode: gateway, or leave gateway.listeners out: a sidecar has those of config.listeners" -}}
{{- end -}}
{{- if and (eq (($config.tokens | default dict).cache | default "") "redis") (not $config.redis) -}}
{{-   $missing = append $missing "set config.redis, which holds the tokens (config.tokens.cache: redis)" -}}
{{- end -}}
{{- range $name := list "memory" "cpu" -}}
{{-   $request := get ($.Values.resources.requests | default dict) $name -}}
{{-   $limit := get ($.Values.resources.limits | default dict) $name -}}
{{-   if and $request $limit (gt (include "countersign.quantity" $request | float64) (include "countersign.quantity" $limit | float64)) -}}
{{-     $missing = append $missing (printf "set resources.requests.%s too: it is %v, above the limit of %v" $name $request $limit) -}}
{{-   end -}}
{{- end -}}
{{- range $name, $_ := include "countersign.selectorLabels" . | fromYaml -}}
{{-   if or (hasKey $.Values.commonLabels $name) (hasKey $.Values.gateway.podLabels $name) -}}
{{-     $missing = append $missing (printf "leave %s out of commonLabels and gateway.podLabels: the chart sets it" $name) -}}
{{-   end -}}
{{- end -}}
{{- range ternary .Values.gateway.listeners $config.listeners (eq .Values.mode "gateway") -}}
{{-   if and $environments (not (has .environment $environments)) -}}
{{-     $missing = append $missing (printf "add %s, which a listener is for, to config.environments (%s)" .environment (join ", " $environments)) -}}
{{-   end -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (ne .Values.mode "gateway") -}}
{{-   $missing = append $missing "set podMonitor.enabled instead of serviceMonitor.enabled: a sidecar has no Service" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled -}}
{{-   $missing = append $missing "enable podMonitor or serviceMonitor, not both: each pod would count twice" -}}
{{- end -}}
{{- range list "countersign.refusedContainer" "countersign.refusedSecrets" "countersign.refusedConfig" "countersign.refusedVolumes" -}}
{{-   with include . $ | trim -}}
{{-     $missing = concat $missing (splitList "\n" .) -}}
{{-   end -}}
{{- end -}}
{{- if $missing -}}
{{-   fail (printf "countersign needs decisions that its chart cannot make:\n  %s\n" (join "\n  " $missing)) -}}
{{- end -}}
{{- end -}}

{{- define "countersign.refuseInjection" -}}
{{- $wrong := list -}}
{{- if not (semverCompare ">=1.36-0" .Capabilities.KubeVersion.Version) -}}
{{-   $wrong = append $wrong (printf "Kubernetes %s has no MutatingAdmissionPolicy (1.36 has): leave injection off" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if eq .Values.mode "gateway" -}}
{{-   $wrong = append $wrong "install the gateway as a release of its own, without injection" -}}
{{- end -}}
{{- if .Values.config -}}
{{-   $wrong = append $wrong "leave config out: with injection each configuration is a ConfigMap in the namespace of its pods" -}}
{{- end -}}
{{- if .Values.serviceMonitor.enabled -}}
{{-   $wrong = append $wrong "leave serviceMonitor off: this release has no Service" -}}
{{- end -}}
{{- range .Values.secrets -}}
{{-   if .externalSecret -}}
{{-     $wrong = append $wrong (printf "set secretName of %s, not externalSecret: with injection its Secret is in the namespace of the pods" .folder) -}}
{{-   end -}}
{{- end -}}
{{- range list "countersign.refusedContainer" "countersign.refusedSecrets" -}}
{{-   with include . $ | trim -}}
{{-     $wrong = concat $wrong (splitList "\n" .) -}}
{{-   end -}}
{{- end -}}
{{- if $wrong -}}
{{-   fail (printf "countersign cannot inject its container:\n  %s\n" (join "\n  " $wrong)) -}}
{{- end -}}
{{- end -}}

{{/* A container with these would never start. */}}
{{- define "countersign.refusedContainer" -}}
{{- with .Values.securityContext -}}
{{-   if and .runAsNonRoot (eq (toString .runAsUser) "0") }}
set securityContext.runAsUser to a user other than 0: with runAsNonRoot no container starts as root
{{-   end -}}
{{- end -}}
{{- with regexFind `[:@][^/]*$` .Values.image.repository }}
take {{ . }} out of image.repository: it belongs into image.tag or image.digest
{{- end -}}
{{- end -}}

{{- define "countersign.refusedSecrets" -}}
{{- $folders := list -}}
{{- range .Values.secrets -}}
{{-   $folders = append $folders .folder -}}
{{-   if ne (len (omit . "folder")) 1 }}
give {{ .folder }} of secrets one of secretName, externalSecret, volume and injected; it has {{ omit . "folder" | keys | sortAlpha | join ", " | default "none" }}
{{-   end -}}
{{- end -}}
{{- if ne (len $folders) (len (uniq $folders)) }}
give each of secrets a folder of its own; they are {{ join ", " $folders }}
{{- end -}}
{{- end -}}

{{/* Mistakes in single values of the configuration for which its schema has no plain words, or which only the other values show. */}}
{{- define "countersign.refusedConfig" -}}
{{- range list "admin" "status" -}}
{{-   if hasKey ($.Values.config | default dict) . }}
leave {{ . }} out of config: the chart sets it
{{-   end -}}
{{- end -}}
{{- $mounted := list -}}
{{- range .Values.secrets -}}
{{-   $mounted = append $mounted (printf "/run/secrets/countersign/%s/" .folder) -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{-   $mounted = append $mounted (printf "%s/" (trimSuffix "/" .mountPath)) -}}
{{- end -}}
{{- range include "countersign.leaves" (dict "at" "" "value" (dict "config" .Values.config "gateway" (pick .Values.gateway "listeners"))) | fromYamlArray -}}
{{-   $leaf := . -}}
{{-   if not (kindIs "string" .value) -}}
{{-     if regexMatch `\.(timeout|remember|lifetime|idleTimeout|unreadyAfterRefusal)$|^config\.(once\.(ttl|wait)|timeouts\..+|drain\.min)$` .at }}
give {{ .at }} a unit: {{ .value }}s, or ms, m or h
{{-     end -}}
{{-   else if regexMatch `\.(clientSecret|privateKey|secret|password|egress\.auth)$|\.callers\..+\.token(\[\d+\])?$|\.encryptionKeys\[\d+\]$|\.otlp\.headers\.[^.]+$` .at }}
take the secret out of {{ .at }}: put it into a Secret that secrets names, and write { file: /run/secrets/countersign/FOLDER/KEY }
{{-   else if hasPrefix "/run/secrets/countersign/" (printf "%s/" .value) -}}
{{-     $found := false -}}
{{-     range $mounted -}}
{{-       $found = or $found (hasPrefix . (printf "%s/" $leaf.value)) -}}
{{-     end -}}
{{-     if not $found }}
add a folder {{ index (printf "%s/" .value | splitList "/") 4 | default "NAME" }} to secrets, or correct {{ .at }}: no Secret is mounted at {{ .value }}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{/* All single values below a value, as a list, each with where it is. */}}
{{- define "countersign.leaves" -}}
{{- $at := .at -}}
{{- if kindIs "map" .value -}}
{{-   range $key, $value := .value -}}
{{-     include "countersign.leaves" (dict "at" (list $at $key | compact | join ".") "value" $value) -}}
{{-   end -}}
{{- else if kindIs "slice" .value -}}
{{-   range $index, $value := .value -}}
{{-     include "countersign.leaves" (dict "at" (printf "%s[%d]" $at $index) "value" $value) -}}
{{-   end -}}
{{- else }}
- {{ toJson . }}
{{- end -}}
{{- end -}}

{{/* A pod with these would be refused by Kubernetes. Volumes that a sidecar's mounts name may be the application's own. */}}
{{- define "countersign.refusedVolumes" -}}
{{- $names := list -}}
{{- $extra := list -}}
{{- range .Values.extraVolumes -}}
{{-   $extra = append $extra .name -}}
{{- end -}}
{{- range include "countersign.volumes" . | fromYamlArray -}}
{{-   if and (has .name $names) (has .name $extra) }}
rename {{ .name }} of extraVolumes: the pod has a volume of this name
{{-   end -}}
{{-   $names = append $names .name -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{-   if and (eq $.Values.mode "gateway") (not (has .name $names)) }}
add the volume {{ .name }}, which extraVolumeMounts names, to extraVolumes
{{-   end -}}
{{- end -}}
{{- end -}}

{{/* A quantity of Kubernetes (100m, 0.5, 128Mi, 1e9) as a number. */}}
{{- define "countersign.quantity" -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $text := toString . -}}
{{- mulf (regexFind `^[0-9.]+([eE][0-9]+)?` $text | float64) (get $units (regexFind `[kKMGTPEm]i?$` $text) | default 1 | float64) -}}
{{- end -}}
