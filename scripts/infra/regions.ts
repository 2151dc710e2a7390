/**
 * Regions with zone-redundant storage, and those of them that are also copied to a pair with zones
 * (learn.microsoft.com/azure/storage/common/redundancy-regions-zrs and …-gzrs, read on 2026-11-22), as far as they also offer
 * Flex Consumption. The templates list the others; the rule `redundancy` holds the two against each other.
 */
const both =
  "australiaeast brazilsouth canadacentral centralindia centralus eastasia eastus eastus2 francecentral " +
  "germanywestcentral japaneast koreacentral northeurope norwayeast southafricanorth southcentralus southeastasia " +
  "swedencentral uaenorth uksouth westeurope westus2 westus3";

export const withGeoZones: ReadonlySet<string> = new Set(both.split(" "));
export const withZones: ReadonlySet<string> = new Set([...withGeoZones, "italynorth", "spaincentral"]);

/** What each redundancy asks of a region. */
export function offers(region: string, sku: string): boolean {
  if (/_(RA)?GZRS$/.test(sku)) return withGeoZones.has(region);
  return /_ZRS$/.test(sku) ? withZones.has(region) : true;
}
