// What a repository whose tokens have ids would be given; OWNER, NAME and the ids stand for yours.

using 'bootstrap.bicep'

param repository = 'OWNER/NAME'
param subjectPrefix = 'repo:OWNER@1/NAME@2'
