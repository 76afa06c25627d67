{{- define "countersign.gatewayContainer" -}}
{{- $container := include "countersign.containerBody" . | fromYaml -}}
{{- range include "countersign.gatewayPorts" . | fromYamlArray -}}
{{-   $_ := set $container "ports" (append $container.ports (dict "name" .name "containerPort" (int .port))) -}}
{{- end -}}
{{- toYaml $container -}}
{{- end -}}

{{/* Fields of a pod's spec that are copied from the values; takes the context (`chart`) and further `keys`. */}}
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
{{-   fail (printf "countersign: set gateway.terminationGracePeriodSeconds to at least %d, the time that Countersign may need to end" $least) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{- define "countersign.serviceAccountName" -}}
{{- with .Values.gateway.serviceAccount -}}
{{- .name | default (ternary (include "countersign.fullname" $) "" .create) -}}
{{- end -}}
{{- end -}}

{{/* Each version of the pods is counted separately, and only nodes that accept them count: else a rollout, or a tainted node, would block pods. */}}
{{- define "countersign.topologySpreadConstraints" -}}
{{- $constraints := list -}}
{{- range list (list "zones" "topology.kubernetes.io/zone") (list "nodes" "kubernetes.io/hostname") -}}
{{-   $spread := get $.Values.gateway.spread (first .) -}}
{{-   if ne $spread "none" -}}
{{-     $selector := dict "matchLabels" (include "countersign.selectorLabels" $ | fromYaml) -}}
{{-     $unsatisfiable := ternary "DoNotSchedule" "ScheduleAnyway" (eq $spread "required") -}}
{{-     $constraint := dict "topologyKey" (last .) "maxSkew" 1 "whenUnsatisfiable" $unsatisfiable "labelSelector" $selector -}}
{{-     $constraints = append $constraints (merge $constraint (dict "matchLabelKeys" (list "pod-template-hash") "nodeTaintsPolicy" "Honor")) -}}
{{-   end -}}
{{- end -}}
{{- with .Values.gateway.topologySpreadConstraints | default $constraints }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* Values that keep an autoscaler or a drain of nodes from working: a sentence on each line. */}}
{{- define "countersign.refusedPods" -}}
{{- $gateway := .Values.gateway -}}
{{- $autoscaling := $gateway.autoscaling -}}
{{- if $autoscaling.enabled -}}
{{-   if gt (int $autoscaling.minReplicas) (int $autoscaling.maxReplicas) }}
set gateway.autoscaling.maxReplicas to no fewer pods than minReplicas, {{ $autoscaling.minReplicas }}
{{-   end -}}
{{-   if not (or (dig "requests" "cpu" "" .Values.resources) (dig "limits" "cpu" "" .Values.resources)) }}
set resources.requests.cpu, which gateway.autoscaling.targetCPUUtilizationPercentage is a share of
{{-   end -}}
{{- end -}}
{{- $most := 0 -}}
{{- range list "maxSurge" "maxUnavailable" -}}
{{-   $most = max $most (dig "rollingUpdate" . "25%" $gateway.strategy | toString | trimSuffix "%" | int) -}}
{{- end -}}
{{- if eq (int $most) 0 }}
set gateway.strategy.rollingUpdate.maxSurge or maxUnavailable to 1 or more: with 0 for both no pod could be replaced
{{- end -}}
{{- with $gateway.podDisruptionBudget -}}
{{-   if .enabled -}}
{{-     $pods := ternary $autoscaling.minReplicas $gateway.replicas $autoscaling.enabled | int -}}
{{-     $given := toString .maxUnavailable -}}
{{-     $number := trimSuffix "%" $given | int -}}
{{- /* Kubernetes rounds a share up. */ -}}
{{-     $away := ternary (div (add (mul $pods $number) 99) 100) $number (hasSuffix "%" $given) | int -}}
{{-     if eq $number 0 }}
set gateway.podDisruptionBudget.maxUnavailable to 1 or more: with {{ $given }} no node that has a pod could be drained
{{-     else if and (gt $pods 1) (ge $away $pods) }}
set gateway.podDisruptionBudget.maxUnavailable to fewer than the {{ $pods }} pods: with {{ $given }} all may be away together
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
