// Storage on private endpoints only, with everything else that can be switched on: workers in the network, completion events, links,
// the log of storage, the lock. Its names are as long as names may be.

using 'main.bicep'

param environmentName = 'production'
param regions = [
  { name: 'germanywestcentral', short: 'gewc' }
  { name: 'swedencentral', short: 'swec' }
]
param privateNetwork = true
param publicHttp = false
param zoneRedundant = true
param workerImage = 'registry.example/leasefold:1'
param workerRegistry = 'registry.example'
param resultLinks = true
param endedEventsQueue = 'leasefold-events'
param settings = {
  LEASEFOLD_ENDED_QUEUE: 'leasefold-ended'
}
param alertEmail = 'on-call@registry.example'
param logStorage = true
param lock = true
