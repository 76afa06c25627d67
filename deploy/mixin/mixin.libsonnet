// A monitoring mixin (https://monitoring.mixins.dev): the alerts and dashboards of the chart. `npm run mixin` puts rules.json and
// dashboards/ beside this file.
local source = import 'rules.json';

local isAlert(rule) = std.objectHas(rule, 'alert');
local rules = std.flattenArrays([group.rules for group in source.groups]);
local names = [rule.alert for rule in rules if isAlert(rule)];

// The groups with only those rules for which isMeant is true, each changed; a group without any is left out.
local groupsOf(isMeant, change) = std.filter(
  function(group) std.length(group.rules) > 0,
  [group { rules: [change(rule) for rule in group.rules if isMeant(rule)] } for group in source.groups],
);

{
  // As the values of the chart below `rules`, and `selector`.
  _config:: {
    // Matchers for each series that the alerts and the variables of the dashboards use, such as 'cluster="north"'.
    selector: '',
    // Values of the label `severity`.
    severity: { page: 'page', ticket: 'ticket' },
    // Further labels and annotations of each alert.
    alertLabels: {},
    alertAnnotations: {},
    // Changes of single alerts: { NAME: { enabled: false, severity: …, 'for': …, labels: …, annotations: … } }.
    alerts: {},
    // Base URL at which your people read the runbooks.
    runbookBaseUrl: 'https://github.com/countersign/countersign/blob/main/',
  },

  local config = self._config,
  local own(rule) = std.get(config.alerts, rule.alert, {}),
  local unknown = std.setDiff(std.set(std.objectFields(config.alerts)), std.set(names)),

  local isWanted(rule) =
    assert unknown == [] : '_config.alerts has %s; there are: %s' % [std.join(', ', unknown), std.join(', ', names)];
    isAlert(rule) && std.get(own(rule), 'enabled', true),

  local withSelector(rule) = rule {
    expr: super.expr % (
      if config.selector == '' then { matchers: '', braces: '' }
      else { matchers: config.selector + ', ', braces: '{%s}' % config.selector }
    ),
  },

  local withValues(rule) =
    local severity = std.get(own(rule), 'severity', rule.labels.severity);
    withSelector(rule) + (if std.objectHas(own(rule), 'for') then { 'for': own(rule)['for'] } else {}) + {
      labels: config.alertLabels + rule.labels + std.get(own(rule), 'labels', {}) + {
        severity: std.get(config.severity, severity, severity),
      },
      annotations: config.alertAnnotations + rule.annotations + {
        runbook_url: std.strReplace(rule.annotations.runbook_url, 'https://github.com/countersign/countersign/blob/main/', config.runbookBaseUrl),
      } + std.get(own(rule), 'annotations', {}),
    },

  // The queries of the variables are label_values(NAME, LABEL) or label_values(NAME{…}, LABEL).
  local limited(query) =
    if config.selector == '' then query
    else if std.member(query, '{') then std.strReplace(query, '{', '{%s, ' % config.selector)
    else std.strReplace(query, ', ', '{%s}, ' % config.selector),
  local withVariables(dashboard) = dashboard {
    templating: {
      list: [
        if variable.type == 'query' then variable {
          query+: { query: limited(super.query) },
          definition: limited(super.definition),
        } else variable
        for variable in dashboard.templating.list
      ],
    },
  },

  prometheusAlerts+:: { groups+: groupsOf(isWanted, withValues) },
  // The alerts read what these rules record. Prometheus refuses two groups of one name in a file.
  prometheusRules+:: {
    groups+: [
      group { name+: '-recorded' }
      for group in groupsOf(function(rule) !isAlert(rule), withSelector)
    ],
  },

  grafanaDashboardFolder:: 'Countersign',
  grafanaDashboards+:: {
    'countersign-overview.json': withVariables(import 'dashboards/overview.json'),
    'countersign-process.json': withVariables(import 'dashboards/process.json'),
    'countersign-tokens.json': withVariables(import 'dashboards/tokens.json'),
  },
}
