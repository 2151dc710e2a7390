// Types, names and role ids that the template and its modules share. Nothing here makes a resource.

@export()
@description('Built-in roles by their names: what the template may assign, and nothing else.')
var roles = {
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
  'Storage Blob Data Reader': '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
  'Storage Blob Delegator': 'db58b8e5-c6ad-4a2a-8342-4190687cbf4a'
  'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  'Storage Queue Data Reader': '19e7f393-937e-4f77-808e-94535e297925'
  'Storage Queue Data Message Sender': 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a'
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb'
}

@export()
@description('Containers after the namespace and a dash, as src/engine/model/names.ts has them.')
var containerSuffixes = [
  'coordination'
  'active'
  'runs'
  'results'
  'inputs'
]

@export()
@description('What an app may do with each container. Inputs are people\'s: an app reads them, and whoever breaks into it changes none.')
var appContainerRoles = {
  coordination: 'Storage Blob Data Contributor'
  active: 'Storage Blob Data Contributor'
  runs: 'Storage Blob Data Contributor'
  results: 'Storage Blob Data Contributor'
  inputs: 'Storage Blob Data Reader'
}

@export()
@description('What somebody who steers runs may write: container and pattern of the blob\'s path. No partial, result or lease record is among it.')
var steerPaths = {
  active: '*'
  inputs: '*'
  runs: '*/spec.json'
}

@export()
@description('Containers of steerPaths in which they only create: nobody replaces the spec of a run that was submitted.')
var steerCreates = [
  'runs'
]

@export()
@description('Containers of steerPaths in which they delete too: what they may replace, they may take away.')
var steerDeletes = [
  'inputs'
]

@export()
@description('Queues that somebody who steers runs may send to: wakes for the leader, and questions (verify, an answer so far) for the workers. A message can ask for work only, and no message makes a wrong result complete.')
var steerQueues = [
  'urgent'
  'wake'
]

@export()
@description('Queues after the namespace and a dash, as src/engine/model/names.ts has them. Each has a twin that ends in -poison.')
var queueSuffixes = [
  'packs'
  'urgent'
  'wake'
]

@export()
@description('Regions that offer Flex Consumption; az functionapp list-flexconsumption-locations tells the newest list.')
type flexRegion =
  | 'australiaeast'
  | 'australiasoutheast'
  | 'brazilsouth'
  | 'canadacentral'
  | 'centralindia'
  | 'centralus'
  | 'eastasia'
  | 'eastus'
  | 'eastus2'
  | 'francecentral'
  | 'germanywestcentral'
  | 'italynorth'
  | 'japaneast'
  | 'koreacentral'
  | 'northcentralus'
  | 'northeurope'
  | 'norwayeast'
  | 'southafricanorth'
  | 'southcentralus'
  | 'southeastasia'
  | 'southindia'
  | 'spaincentral'
  | 'swedencentral'
  | 'uaenorth'
  | 'uksouth'
  | 'ukwest'
  | 'westcentralus'
  | 'westeurope'
  | 'westus'
  | 'westus2'
  | 'westus3'

@export()
@description('Regions of those above without zone-redundant storage; scripts/infra/regions.ts has the lists of Microsoft and their date.')
var regionsWithoutZones = [
  'australiasoutheast'
  'northcentralus'
  'southindia'
  'ukwest'
  'westcentralus'
  'westus'
]

@export()
@description('Regions with zones that are not copied to a pair with zones.')
var regionsWithoutGeoZones = [
  'italynorth'
  'spaincentral'
]

@export()
@sealed()
@description('One region in which an app of its own runs.')
type region = {
  @description('Where the app and its host storage are.')
  name: flexRegion

  @description('The region in a few letters: the end of the app\'s name.')
  @minLength(1)
  @maxLength(4)
  short: string
}

@export()
@sealed()
@description('Instances that are always there, for one function or group of functions. They cost money while idle.')
type alwaysReadyGroup = {
  @description('A group (http) or one function, written function:worker.')
  @minLength(4)
  @maxLength(60)
  name: string

  @description('How many instances stay.')
  @minValue(0)
  @maxValue(100)
  instanceCount: int
}

@export()
@sealed()
@description('Somebody who looks at runs (read) or also uploads inputs, submits, pauses, verifies and deletes runs with the command line (steer).')
type operator = {
  @description('Object id of a group, user or service principal.')
  @minLength(36)
  @maxLength(36)
  principalId: string

  @description('What the id belongs to; said explicitly, so that a new principal need not be looked up first.')
  principalType: 'Group' | 'User' | 'ServicePrincipal'

  @description('What it may do.')
  access: 'read' | 'steer'
}

@export()
@sealed()
@description('Which alerts are on; those not named are. The sections of docs/OPERATIONS.md have the same names.')
type alertSwitches = {
  @description('Runs are open and nobody leads.')
  noLeader: bool?
  @description('Two instances claimed the same term.')
  twoHolders: bool?
  @description('A message was set aside after its last delivery.')
  poison: bool?
  @description('Messages wait too long for a worker.')
  oldMessages: bool?
  @description('A run goes on without progress.')
  stalledRun: bool?
  @description('Storage answers 403.')
  storageDenied: bool?
  @description('The Functions host reports errors.')
  hostErrors: bool?
  @description('Runs are open and the timer of an app is silent; off where LEASEFOLD_SCHEDULE ticks less often than each five minutes.')
  noTick: bool?
  @description('A run failed; off where that is usual.')
  runFailed: bool?
  @description('A schedule was due and got no run.')
  scheduleSkipped: bool?
  @description('The logs of a day are near their cap.')
  logCap: bool?
}

@export()
@description('Secrets of a Key Vault: under the name of an environment variable the address of one, such as https://NAME.vault.azure.net/secrets/token. Their values are in no parameter, template or deployment.')
type secretAddresses = {
  @description('Address of the secret.')
  @minLength(12)
  *: string
}

@export()
@sealed()
@description('Settings of the app beyond those the template sets itself; src/engine/model/settings.ts says what each does. What is absent has the default of the app.')
type leasefoldSettings = {
  @description('When each app races for the lease without a wake, on one of its instances: NCRONTAB with seconds.')
  @minLength(11)
  LEASEFOLD_SCHEDULE: string?

  @description('Files of your own calculations inside the package, separated by commas.')
  LEASEFOLD_CALCULATIONS: string?

  @description('Names of the calculations that the apps compute, separated by commas; all by default.')
  LEASEFOLD_ONLY: string?

  @description('Containers that calculations may read beside the one of inputs, separated by commas; give the apps Storage Blob Data Reader there.')
  LEASEFOLD_SOURCES: string?

  @description('Names of environment variables that calculations find, such as those of keyVaultReferences, separated by commas.')
  LEASEFOLD_ENV: string?

  @description('Queue that gets a completion event for each run; the template makes it, and gives the apps the right to send into it.')
  @minLength(3)
  @maxLength(63)
  LEASEFOLD_ENDED_QUEUE: string?

  @description('Length of the blob lease, seconds.')
  @minValue(15)
  @maxValue(60)
  LEASEFOLD_LEASE_S: int?

  @description('Longest time one invocation leads, seconds; below functionTimeout of host.json.')
  @minValue(30)
  @maxValue(3000000)
  LEASEFOLD_BUDGET_S: int?

  @description('Pause between two looks of the leader, milliseconds.')
  @minValue(50)
  @maxValue(60000)
  LEASEFOLD_LOOP_MS: int?

  @description('The same in the first ten seconds of a run and for its last packs, milliseconds.')
  @minValue(50)
  @maxValue(60000)
  LEASEFOLD_LOOP_FAST_MS: int?

  @description('Time limit of one attempt of a pack, seconds; at most half of functionTimeout of host.json.')
  @minValue(1)
  @maxValue(86400)
  LEASEFOLD_PACK_LIMIT_S: int?

  @description('Dollars that a run may cost which names no other bound, such as 5 or 0.25.')
  LEASEFOLD_MAX_COST: string?

  @description('Worker threads of an instance.')
  @minValue(1)
  @maxValue(256)
  LEASEFOLD_THREADS: int?

  @description('Packs that a plan takes to be computed at once: instances times threads.')
  @minValue(1)
  @maxValue(100000)
  LEASEFOLD_PLAN_WORKERS: int?

  @description('Heap of one worker thread, MB; all threads together stay below instanceMemoryMB.')
  @minValue(16)
  @maxValue(65536)
  LEASEFOLD_THREAD_MEMORY_MB: int?

  @description('Whether a leader without a heartbeat is deposed before its lease runs out; fast doubles its heartbeats.')
  LEASEFOLD_EARLY_TAKEOVER: ('true' | 'false' | 'fast')?

  @description('Whether the dashboard and the HTTP API refuse everything but reads.')
  LEASEFOLD_READ_ONLY: ('true' | 'false')?
}
