{{- define "countersign.gatewayContainer" -}}
{{- $container := include "countersign.containerBody" . | fromYaml -}}
{{- range .Values.gateway.listeners -}}
{{-   $port := dict "name" (printf "callers-%d" (int .port)) "containerPort" (int .port) -}}
{{-   $_ := set $container "ports" (append $container.ports $port) -}}
{{- end -}}
{{- toYaml $container -}}
{{- end -}}

{{/* Fields of a pod's spec that values give as they are; takes the context (`chart`) and the `keys` of some more. */}}
{{- define "countersign.podFields" -}}
{{- $fields := dict -}}
{{- $common := list "nodeSelector" "tolerations" "runtimeClassName" "schedulerName" "hostAliases" "dnsPolicy" "dnsConfig" -}}
{{- range $key := concat $common .keys -}}
{{-   with get $.chart.Values.gateway $key -}}
{{-     $_ := set $fields $key . -}}
{{-   end -}}
{{- end -}}
{{- with $fields }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- define "countersign.gatewayGraceSeconds" -}}
{{- $least := include "countersign.drainSeconds" . | int -}}
{{- $seconds := .Values.gateway.terminationGracePeriodSeconds | default $least | int -}}
{{- if lt $seconds $least -}}
{{-   fail (printf "countersign: set gateway.terminationGracePeriodSeconds to at least %d, which Countersign takes to end" $least) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{- define "countersign.serviceAccountName" -}}
{{- with .Values.gateway.serviceAccount -}}
{{- .name | default (ternary (include "countersign.fullname" $) "" .create) -}}
{{- end -}}
{{- end -}}
